"""Refines the replies of LiteLLM's proxy: a callback, to put beside its `config.yaml` (docs/guides/server.md)."""

from langchain_core.messages import convert_to_messages
from litellm.integrations.custom_logger import CustomLogger

import eirene
from eirene.agent.wrappers.conversation import conversation_item


class Refine(CustomLogger):
    async def async_post_call_success_hook(self, data, user_api_key_dict, response):
        for choice in getattr(response, "choices", []):
            message = getattr(choice, "message", None)
            text = getattr(message, "content", None)
            if not text or getattr(message, "tool_calls", None) or choice.finish_reason != "stop":
                continue
            given = {key: data[key] for key in ("perspectives", "context") if data.get(key)}
            item = conversation_item(convert_to_messages(data["messages"]), text, given=given)
            message.content = (await eirene.arefine(item, backend="embedded")).answer
        return response


hook = Refine()
