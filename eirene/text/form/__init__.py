"""Form: the stretches of a text that are structure (data, markup, code), each of which stays whole or is left alone."""

from eirene.text.form.find import form_spans, is_form

__all__ = ["form_spans", "is_form"]
