// The npm `openai` client against `eirene serve`: does what a program would do, and prints what it saw as JSON.
//
//   NODE_PATH=build/npm/node_modules node openai_client.cjs '{"base": ..., "tools": ..., "slow": ..., "model": ..., "given": {...}}'
"use strict";
const OpenAI = require("openai");

const asked = JSON.parse(process.argv[2]);
const connect = (url, options = {}) =>
  new OpenAI.OpenAI({ baseURL: url + "/v1", apiKey: "none", maxRetries: 0, timeout: 20000, ...options });
const client = connect(asked.base);
const turns = (text) => [{ role: "user", content: text }];
const body = (text, more = {}) => ({ model: asked.model, messages: turns(text), ...asked.given, ...more });

async function failure(promise) {
  try {
    await promise;
    return "no error";
  } catch (error) {
    return { kind: error.constructor.name, status: error.status ?? null, code: error.code ?? null,
      message: error.message };
  }
}

async function collect(stream) {
  const seen = { texts: [], finish: [], chunks: 0, usage: null, trace: null, calls: [] };
  for await (const chunk of stream) {
    seen.chunks += 1;
    seen.usage = chunk.usage ?? seen.usage;
    seen.trace = chunk.eirene ?? seen.trace;
    for (const { index, delta, finish_reason } of chunk.choices) {
      seen.texts[index] = (seen.texts[index] ?? "") + (delta.content ?? "");
      seen.calls.push(...(delta.tool_calls ?? []));
      if (finish_reason) seen.finish[index] = finish_reason;
    }
  }
  return seen;
}

async function main() {
  const { data: chat, response } = await client.chat.completions.create(body("Should zoos be closed?")).withResponse();
  const models = [];
  for await (const model of client.models.list()) models.push(model.id);
  const tools = connect(asked.tools).chat.completions;
  return {
    chat,
    run: response.headers.get("x-eirene-run-id"),
    models,
    three: await client.chat.completions.create(body("Should zoos be closed?", { n: 3 })),
    stream: await collect(await client.chat.completions.create(
      body("Should zoos be closed?", { stream: true, stream_options: { include_usage: true } }))),
    three_streamed: await collect(await client.chat.completions.create(
      body("Should zoos be closed?", { stream: true, n: 3 }))),
    helper: await client.chat.completions.stream(body("Should zoos be closed?")).finalContent(),
    tools: await tools.create(body("Look it up.")),
    tools_streamed: await collect(await tools.create(body("Look it up.", { stream: true }))),
    no_model: await failure(client.chat.completions.create(body("x", { model: "gpt-0" }))),
    bad_field: await failure(client.chat.completions.create(body("x", { temperature: 9 }))),
    busy: await failure(client.chat.completions.create(body("busy"))),
    broken: await failure(client.chat.completions.create(body("broken"))),
    broken_stream: await failure(client.chat.completions.create(body("broken", { stream: true })).then(collect)),
    timeout: await failure(connect(asked.slow, { timeout: 300 }).chat.completions.create(body("x"))),
    server_timeout: await failure(connect(asked.slow).chat.completions.create(body("x"))),
    late: await failure(connect(asked.slow).chat.completions.create(body("x", { stream: true })).then(collect)),
    wrong_key: await failure(connect(asked.locked, { apiKey: "wrong" }).models.list()),
    right_key: (await connect(asked.locked, { apiKey: "secret" }).models.list()).data.length,
  };
}

main().then((seen) => process.stdout.write(JSON.stringify(seen)));
