"""The chain of an exception: causes, contexts, hidden ones, groups, circles."""

from __future__ import annotations

from eirene.core.errors import error_chain, root_cause


def raised(error: Exception, *, while_handling: Exception, hides: bool = False) -> Exception:
    try:
        try:
            raise while_handling
        except Exception:
            if hides:
                raise error from None
            raise error  # noqa: B904 - its context is what is tested
    except Exception as found:
        return found


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def test_a_cause_stands_before_a_context() -> None:
    a, b, c = ValueError("a"), KeyError("b"), OSError("c")
    assert list(error_chain(raised(a, while_handling=b))) == [a, b]
    assert list(error_chain(caused(a, c))) == [a, c]


def test_what_is_kept_out_of_tracebacks_belongs_to_the_chain() -> None:
    a, b = ValueError("a"), KeyError("b")
    assert list(error_chain(raised(a, while_handling=b, hides=True))) == [a, b]


def test_members_of_groups_are_there_and_the_nearest_come_first() -> None:
    deep, root = OSError("deep"), KeyError("root")
    one, two = caused(ValueError("one"), deep), ValueError("two")
    group = caused(ExceptionGroup("several", [one, ExceptionGroup("inner", [two])]), root)
    told = [str(link.args[0]) for link in error_chain(group)]
    assert told == ["several", "one", "inner", "root", "deep", "two"]


def test_a_circle_is_gone_round_once() -> None:
    a, b = ValueError("a"), KeyError("b")
    caused(a, b), caused(b, a)
    assert list(error_chain(a)) == [a, b]
    assert root_cause(a) is b


def test_the_root_is_one_that_was_named_as_a_cause() -> None:
    root = raised(OSError("root"), while_handling=KeyError("beside it"))
    top = caused(ValueError("top"), caused(ValueError("middle"), root))
    assert root_cause(top) is root and root_cause(root) is root
