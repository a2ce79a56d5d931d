// The `openai` client of npm through the proxy; prints what came back as JSON.
import OpenAI from "openai";

const [baseURL] = process.argv.slice(2);
const ids = { "X-Souffleur-User": "node", "X-Souffleur-Session": "s" };
const ai = new OpenAI({ baseURL, apiKey: "sk-node", defaultHeaders: ids, maxRetries: 0 });
const model = "m";
const user = (content) => ({ role: "user", content });
const found = {};

const whole = await ai.chat.completions.create({ model, messages: [user("whole")] });
found.whole = whole.choices[0].message.content;

found.streamed = "";
const stream = await ai.chat.completions.create({ model, stream: true, messages: [user("streamed")] });
for await (const chunk of stream) found.streamed += chunk.choices[0].delta.content ?? "";

const url = "data:image/png;base64,AAAA";
const parts = [{ type: "text", text: "image" }, { type: "image_url", image_url: { url } }];
const seen = await ai.chat.completions.create({ model, messages: [user(parts)] });
found.image = seen.choices[0].message.content;

const tool = { type: "function", function: { name: "weather", parameters: {} } };
const asked = ai.chat.completions.stream({ model, messages: [user("tools")], tools: [tool] });
found.tool = (await asked.finalChatCompletion()).choices[0].message.tool_calls[0].function.name;

try {
  await ai.chat.completions.create({ model, messages: [user("error")] });
} catch (error) {
  found.error = [error.status, error.message];
}

found.aborted = "";
const story = await ai.chat.completions.create({ model, stream: true, messages: [user("abort")] });
for await (const chunk of story) {
  found.aborted += chunk.choices[0].delta.content ?? "";
  if (found.aborted === "Once upon ") story.controller.abort();
}

const responded = await ai.responses.create({ model, input: "response" });
found.response = responded.output_text;
console.log(JSON.stringify(found));
