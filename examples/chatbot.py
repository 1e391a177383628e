"""A chatbot whose replies pass the loop before anyone sees them.

    python examples/chatbot.py

`ScriptedChatModel` stands for your model (`ChatOpenAI(...)`, `init_chat_model(...)`). Its draft leaves the other side
out.
"""

import eirene

chatbot = eirene.ScriptedChatModel(["Supporters say that zoos teach children about animals."])
model = eirene.RefiningChatModel(chatbot, backend="embedded")
reply = model.invoke(
    "Should zoos be closed?",
    perspectives={"pro": "Zoos teach children about animals.", "con": "Cages make animals suffer."},
)
print(reply.text)
record = reply.response_metadata["eirene"]
print(f"{record['status']}: {record['why']}")
