
// What internal/judge reads of replies and errors, in the providers' own types:
// a member that they do not have, or have otherwise, is an error of the compiler.

export function readOpenAI(r: OpenAI.Chat.Completions.ChatCompletion) {
  const choice = r.choices[0];
  const content: string | null = choice.message.content;
  const refusal: string | null | undefined = choice.message.refusal;
  const cut = choice.finish_reason === "length";
  const filtered = choice.finish_reason === "content_filter";
  const tokens: [string, number][] =
    choice.logprobs?.content?.[0].top_logprobs.map((t) => [t.token, t.logprob]) ?? [];
  const used: (number | undefined)[] = [r.usage?.prompt_tokens, r.usage?.completion_tokens];
  const model: string = r.model;
  return [content, refusal, cut, filtered, tokens, used, model];
}

export function readOpenAIError(e: OpenAI.ErrorObject) {
  const texts: (string | null)[] = [e.message, e.type, e.code, e.param];
  return texts;
}

export function readAnthropic(m: Anthropic.Messages.Message) {
  const text: string = m.content.map((b) => (b.type === "text" ? b.text : "")).join("");
  const cut = m.stop_reason === "max_tokens";
  const refused = m.stop_reason === "refusal";
  const used: (number | null)[] = [
    m.usage.input_tokens,
    m.usage.cache_creation_input_tokens,
    m.usage.cache_read_input_tokens,
    m.usage.output_tokens,
  ];
  const model: string = m.model;
  return [text, cut, refused, used, model];
}

export function readAnthropicError(r: Anthropic.ErrorResponse) {
  const kind: "error" = r.type;
  const message: string = r.error.message;
  return [kind, message, r.error.type === "billing_error", r.error.type === "authentication_error"];
}
