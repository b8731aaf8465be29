package stream

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// services lists the assemblers of services. Each makes what the service
// answers without a stream, so that one mapping serves both.
func services() []Kind {
	return []Kind{
		{Name: "openai", Format: SSE, Doc: "OpenAI chat completions and what speaks like them (Open WebUI, Azure OpenAI On Your Data, Hayhooks, PrivateGPT 0.x): choices with whole messages, and whatever else stands in frames and deltas",
			new: func(Options) assembler { return &openAI{} }},
		{Name: "openai_responses", Format: SSE, Doc: "OpenAI Responses: the response of the last event",
			new: func(Options) assembler { return &openAIResponses{} }, end: typed("response.completed", "response.incomplete", "response.failed", "response.cancelled")},
		{Name: "anthropic", Format: SSE, Doc: "Anthropic Messages and PrivateGPT: the message with its content blocks",
			new: func(Options) assembler { return &anthropic{} }, end: typed("message_stop")},
		{Name: "langserve", Format: SSE, Doc: "LangServe: {output, metadata}, fragments merged by key",
			new: func(Options) assembler { return &langServe{} }, end: named("end")},
		{Name: "langgraph", Format: SSE, Doc: "LangGraph server: the last state of the mode values, else the messages",
			new: func(Options) assembler { return &langGraph{} }, end: named("end")},
		{Name: "dify", Format: SSE, Doc: "Dify: the answer joined, the metadata of message_end; of a workflow its data",
			new: func(Options) assembler { return &dify{} }, end: func(p part) bool { return textAt(p.data, "event") == "message_end" }},
		{Name: "anythingllm", Format: SSE, Doc: "AnythingLLM: textResponse joined, the sources of the last frame",
			new: func(Options) assembler { return &anythingLLM{} }, end: typed("finalizeResponseStream")},
		{Name: "flowise", Format: SSE, Doc: "Flowise: text joined, sourceDocuments, the members of metadata",
			new: func(Options) assembler { return &flowise{} }, end: func(p part) bool { return textAt(p.data, "event") == "end" }},
		{Name: "glean", Format: NDJSON, Doc: "Glean: the messages, fragments of one message joined", eof: false,
			new: func(Options) assembler { return &glean{} }},
		{Name: "vercel", Format: Lines, Doc: "create-llama and other users of the Vercel data stream: {text, annotations}", eof: true,
			new: func(Options) assembler { return &vercel{} }, end: func(p part) bool { return p.event == "d" }},
		{Name: "vercel_ui", Format: SSE, Doc: "the newer Vercel UI message stream: {text, annotations, sources}",
			new: func(Options) assembler { return &vercelUI{} }},
		{Name: "ragflow", Format: SSE, Doc: "RAGFlow: the answer joined, the reference of the last frame",
			new: func(Options) assembler { return &ragFlow{} }, end: func(p part) bool { return isTrue(at(p.data, "data")) }},
		{Name: "cohere", Format: SSE, Doc: "Cohere v2 chat: the message with content blocks and citations",
			new: func(Options) assembler { return &cohere{} }, end: typed("message-end")},
		{Name: "gemini", Format: SSE, Doc: "Gemini streamGenerateContent with alt=sse: candidates with all parts and the grounding",
			new: func(Options) assembler { return &gemini{} }},
		{Name: "pinecone", Format: SSE, Doc: "Pinecone Assistant: message, citations, usage",
			new: func(Options) assembler { return &pinecone{} }, end: typed("message_end")},
		{Name: "lightrag", Format: NDJSON, Doc: "LightRAG: {response, references}", eof: true,
			new: func(Options) assembler { return &lightRAG{} }},
	}
}

// typed tells a frame by the type in its data, or by its event.
func typed(names ...string) func(part) bool {
	return func(p part) bool { return slices.Contains(names, typeOf(p)) }
}

func typeOf(p part) string { return cmp.Or(textAt(p.data, "type"), p.event) }

func named(name string) func(part) bool { return func(p part) bool { return p.event == name } }

// index reads the place of a block, which must be among the n there are or the
// next one.
func index(v evidence.Value, n int) (int, error) {
	i, err := strconv.Atoi(string(v))
	if err != nil || i < 0 || i > n {
		return 0, fmt.Errorf("has the index %s, want one from 0 to %d", evidence.Shorten(v, 20), n)
	}
	return i, nil
}

// openAI joins the deltas of chat completions.
type openAI struct {
	ear
	o object
}

func (a *openAI) add(p part) error {
	for name, v := range evidence.Members(p.data) {
		switch {
		case name == "choices":
			for choice := range evidence.Elements(v) {
				if err := a.choice(choice); err != nil {
					return err
				}
			}
		case name == "object":
			a.o.setText(name, "chat.completion")
		case !evidence.IsNull(v):
			a.o.set(name, v.Clone())
		}
	}
	return nil
}

func (a *openAI) choice(v evidence.Value) error {
	choices := a.o.list("choices")
	i := 0
	if at, ok := evidence.Member(v, "index"); ok {
		var err error
		if i, err = index(at, len(choices.items)); err != nil {
			return err
		}
	}
	choice := choices.object(i)
	for name, value := range evidence.Members(v) {
		switch {
		case name == "delta":
			a.delta(choice.object("message"), value)
		case name == "message" && value.Kind() == '{':
			a.hear(textAt(value, "content"))
			choice.set(name, value.Clone())
		case name == "text":
			s, _ := evidence.Text(value)
			a.hear(s)
			choice.append(name, s)
		case name == "finish_reason" && !evidence.IsNull(value):
			a.whole = true
			choice.set(name, value.Clone())
		case !evidence.IsNull(value) || choice.get(name) == nil:
			choice.set(name, value.Clone())
		}
	}
	return nil
}

func (a *openAI) delta(message *object, v evidence.Value) {
	for name, value := range evidence.Members(v) {
		s, isText := evidence.Text(value)
		switch {
		case isText && slices.Contains([]string{"content", "refusal", "reasoning", "reasoning_content"}, name):
			if name == "content" {
				a.hear(s)
			}
			message.append(name, s)
		case !evidence.IsNull(value) || message.get(name) == nil:
			message.set(name, value.Clone())
		}
	}
}

func (a *openAI) result() node { return &a.o }

// openAIResponses waits for the event with the whole response.
type openAIResponses struct {
	ear
	items list // as they were finished, should the response come without them
	final *object
}

func (a *openAIResponses) add(p part) error {
	kind := typeOf(p)
	response := at(p.data, "response")
	switch kind {
	case "response.output_text.delta":
		a.hear(textAt(p.data, "delta"))
	case "response.output_item.done":
		if item := at(p.data, "item"); item != nil {
			a.items.items = append(a.items.items, item.Clone())
		}
	case "response.failed":
		return faultOf(response, textAt(response, "error.message"))
	case "response.completed", "response.incomplete", "response.cancelled":
		if evidence.IsNull(response) || response.Kind() != '{' {
			return fmt.Errorf("ends the stream without a response")
		}
		a.final, a.whole = objectOf(response), true
		if output := a.final.list("output"); len(output.items) == 0 {
			output.items = a.items.items
		}
	}
	return nil
}

func (a *openAIResponses) result() node {
	if a.final == nil {
		return nil
	}
	return a.final
}

// anthropic builds a message of its blocks.
type anthropic struct {
	ear
	o object
}

func (a *anthropic) add(p part) error {
	switch typeOf(p) {
	case "message_start":
		a.o.take(at(p.data, "message"))
	case "content_block_start":
		return a.block(p.data, func(blocks *list, i int) {
			block := objectOf(at(p.data, "content_block"))
			if i == len(blocks.items) {
				blocks.items = append(blocks.items, block)
			} else {
				blocks.items[i] = block
			}
			a.hear(textAt(p.data, "content_block.text"))
		})
	case "content_block_delta":
		return a.block(p.data, func(blocks *list, i int) { a.delta(blocks.object(i), at(p.data, "delta")) })
	case "message_delta":
		a.o.take(at(p.data, "delta"))
		if usage := at(p.data, "usage"); !evidence.IsNull(usage) {
			a.o.object("usage").take(usage)
		}
	case "message_stop":
		a.whole = true
	}
	return nil
}

func (a *anthropic) block(v evidence.Value, do func(*list, int)) error {
	blocks := a.o.list("content")
	i, err := index(at(v, "index"), len(blocks.items))
	if err == nil {
		do(blocks, i)
	}
	return err
}

func (a *anthropic) delta(block *object, v evidence.Value) {
	for name, value := range evidence.Members(v) {
		s, isText := evidence.Text(value)
		switch {
		case name == "type":
		case name == "citation":
			block.list("citations").items = append(block.list("citations").items, value.Clone())
		case isText:
			if name == "text" {
				a.hear(s)
			}
			block.append(name, s)
		case value.Kind() == '[':
			block.list(name).add(value)
		default:
			block.set(name, value.Clone())
		}
	}
}

func (a *anthropic) result() node { return &a.o }

// langServe merges fragments by key, as the service's own client adds them:
// texts and lists grow, the rest is replaced.
type langServe struct {
	ear
	output   node
	metadata object
}

func (a *langServe) add(p part) error {
	switch p.event {
	case "metadata":
		a.metadata.take(p.data)
	case "end":
		a.whole = true
	case "data", "":
		if s, ok := evidence.Text(p.data); ok {
			a.hear(s)
			a.output = merged(a.output, p.data)
			return nil
		}
		for _, path := range []string{"answer", "output", "output.content", "text", "result", "content"} {
			a.hear(textAt(p.data, path))
		}
		if p.data != nil {
			a.output = merged(a.output, p.data)
		}
	}
	return nil
}

func (a *langServe) result() node {
	o := &object{}
	o.set("output", a.output)
	o.set("metadata", &a.metadata)
	return o
}

// merged adds a fragment to what there is.
func merged(old node, v evidence.Value) node {
	if evidence.IsNull(v) {
		return old
	}
	switch old := open(old).(type) {
	case *object:
		if v.Kind() == '{' {
			message := strings.HasSuffix(textAt(v, "type"), "MessageChunk")
			for name, value := range evidence.Members(v) {
				switch inner, isObject := open(old.get(name)).(*object); {
				case message && name != "content":
					if !evidence.IsNull(value) {
						old.set(name, value.Clone())
					}
				case isObject && !strings.HasSuffix(textAt(value, "type"), "MessageChunk"):
					old.set(name, value.Clone())
				case isObject:
					old.set(name, merged(inner, value))
				default:
					old.set(name, merged(old.get(name), value))
				}
			}
			return old
		}
	case *list:
		if v.Kind() == '[' {
			old.add(v)
			return old
		}
	case *text:
		if s, ok := evidence.Text(v); ok {
			old.s = append(old.s, s...)
			return old
		}
	case evidence.Value:
		before, isText := evidence.Text(old)
		if s, ok := evidence.Text(v); ok && isText {
			return &text{append([]byte(before), s...)}
		}
	}
	return v.Clone()
}

// langGraph keeps the last state; without one, the messages.
type langGraph struct {
	ear
	values   evidence.Value
	messages list
	ids      map[string]int // of messages: their places
}

func (a *langGraph) add(p part) error {
	switch p.event {
	case "values":
		a.values = p.data.Clone()
	case "messages/partial", "messages/complete":
		for m := range evidence.Elements(p.data) {
			a.message(m, false)
		}
	case "messages": // a chunk and its metadata
		a.message(at(p.data, "0"), true)
	case "end":
		a.whole = true
	}
	return nil
}

func (a *langGraph) message(m evidence.Value, chunk bool) {
	if evidence.IsNull(m) || m.Kind() != '{' {
		return
	}
	if strings.HasPrefix(strings.ToLower(textAt(m, "type")), "ai") {
		a.hear(textAt(m, "content"))
	}
	id := textAt(m, "id")
	i, known := a.ids[id]
	switch {
	case !known:
		if a.ids == nil {
			a.ids = map[string]int{}
		}
		if id != "" {
			a.ids[id] = len(a.messages.items)
		}
		a.messages.items = append(a.messages.items, m.Clone())
	case chunk:
		a.messages.object(i).append("content", textAt(m, "content"))
	default:
		a.messages.items[i] = m.Clone()
	}
}

func (a *langGraph) result() node {
	if a.values != nil {
		return a.values
	}
	o := &object{}
	o.set("messages", &a.messages)
	return o
}

// dify joins answers.
type dify struct {
	ear
	o object
}

func (a *dify) add(p part) error {
	event := textAt(p.data, "event")
	switch event {
	case "message", "agent_message":
		s := textAt(p.data, "answer")
		a.hear(s)
		a.o.take(p.data, "answer")
		a.o.append("answer", s)
		a.o.setText("event", "message")
	case "message_replace":
		a.o.setText("answer", textAt(p.data, "answer"))
	case "message_end":
		a.o.take(p.data, "event", "answer")
		if a.o.get("answer") == nil {
			a.o.setText("answer", "")
		}
		a.whole = true
	case "text_chunk":
		a.hear(textAt(p.data, "data.text"))
	case "workflow_finished":
		if textAt(p.data, "data.status") == "failed" {
			return &ServiceError{Message: cmp.Or(textAt(p.data, "data.error"), "the workflow failed")}
		}
		if a.o.get("answer") == nil { // of a workflow: no message follows
			a.o.take(p.data, "event")
			a.whole = true
		}
	}
	return nil
}

func (a *dify) result() node { return &a.o }

// anythingLLM joins chunks.
type anythingLLM struct {
	ear
	o object
}

func (a *anythingLLM) add(p part) error {
	switch kind := textAt(p.data, "type"); kind {
	case "abort":
		return &ServiceError{Message: cmp.Or(textAt(p.data, "error"), textAt(p.data, "textResponse"), "aborted")}
	case "textResponseChunk", "textResponse":
		s := textAt(p.data, "textResponse")
		a.hear(s)
		if kind == "textResponse" {
			a.o.setText("textResponse", s)
		} else {
			a.o.append("textResponse", s)
		}
		a.o.take(p.data, "textResponse", "type", "sources")
		if sources := at(p.data, "sources"); a.o.get("sources") == nil || len(sources) > len("[]") {
			a.o.set("sources", sources.Clone())
		}
		a.o.setText("type", "textResponse")
		a.whole = a.whole || isTrue(at(p.data, "close"))
	case "finalizeResponseStream":
		a.o.take(p.data, "type")
		a.whole = true
	}
	return nil
}

func (a *anythingLLM) result() node { return &a.o }

// flowise joins tokens.
type flowise struct {
	ear
	o object
}

func (a *flowise) add(p part) error {
	data := at(p.data, "data")
	switch event := textAt(p.data, "event"); event {
	case "token":
		s, _ := evidence.Text(data)
		a.hear(s)
		a.o.append("text", s)
	case "metadata":
		a.o.take(data)
	case "end":
		a.whole = true
	case "abort": // an end follows all the same
		return &ServiceError{Message: "the stream was aborted"}
	case "", "start":
	default:
		a.o.set(event, data.Clone())
	}
	return nil
}

func (a *flowise) result() node { return &a.o }

// glean joins the fragments of each message.
type glean struct {
	ear
	o       object
	open    bool // a message has more fragments
	content bool
	ids     map[string]int // of messages: their places
}

func (a *glean) add(p part) error {
	a.o.take(p.data, "messages")
	messages := a.o.list("messages")
	for m := range evidence.Elements(at(p.data, "messages")) {
		id := textAt(m, "messageId")
		if textAt(m, "messageType") == "CONTENT" {
			a.content = true
			for f := range evidence.Elements(at(m, "fragments")) {
				a.hear(textAt(f, "text"))
			}
		}
		if i, known := a.ids[id]; !known {
			if a.ids == nil {
				a.ids = map[string]int{}
			}
			if id != "" {
				a.ids[id] = len(messages.items)
			}
			messages.items = append(messages.items, m.Clone())
		} else {
			message := messages.object(i)
			message.take(m, "fragments", "citations")
			for _, name := range []string{"fragments", "citations"} {
				if v := at(m, name); !evidence.IsNull(v) {
					message.list(name).add(v)
				}
			}
		}
		a.open = isTrue(at(m, "hasMoreFragments"))
	}
	a.whole = a.content && !a.open
	return nil
}

func (a *glean) result() node { return &a.o }

// vercel reads the parts of a data stream by their prefix.
type vercel struct {
	ear
	o object
}

func (a *vercel) add(p part) error {
	s, _ := evidence.Text(p.data)
	switch p.event {
	case "0":
		a.hear(s)
		a.o.append("text", s)
	case "g":
		a.o.append("reasoning", s)
	case "8":
		a.o.list("annotations").add(p.data)
	case "2":
		a.o.list("data").add(p.data)
	case "3":
		return &ServiceError{Message: cmp.Or(s, message(p.data))}
	case "d":
		a.o.take(p.data)
		a.whole = true
	}
	return nil
}

func (a *vercel) result() node { return &a.o }

// vercelUI reads the parts of a UI message stream by their type.
type vercelUI struct {
	ear
	o object
}

func (a *vercelUI) add(p part) error {
	kind := textAt(p.data, "type")
	switch {
	case kind == "text-delta":
		s := cmp.Or(textAt(p.data, "delta"), textAt(p.data, "textDelta"))
		a.hear(s)
		a.o.append("text", s)
	case kind == "finish":
		a.whole = true
	case kind == "abort":
		return &ServiceError{Message: "the stream was aborted"}
	case strings.HasPrefix(kind, "source-"):
		a.o.list("sources").add(p.data)
	case strings.HasPrefix(kind, "data-"):
		part := &object{}
		part.setText("type", strings.TrimPrefix(kind, "data-"))
		part.set("data", at(p.data, "data").Clone())
		a.o.list("annotations").items = append(a.o.list("annotations").items, part)
	}
	return nil
}

func (a *vercelUI) result() node { return &a.o }

// ragFlow joins the pieces of the answer. Up to version 0.23 frames do not say
// whether they are final, and each repeats the whole answer so far.
type ragFlow struct {
	ear
	o        object
	answer   text
	thinking bool
}

func (a *ragFlow) add(p part) error {
	if code := at(p.data, "code"); code != nil && string(code) != "0" && !evidence.IsNull(code) {
		return faultOf(p.data, textAt(p.data, "message"))
	}
	data := at(p.data, "data")
	a.whole = a.whole || isTrue(data) && len(a.o.members) > 0
	s, ok := evidence.Text(at(data, "answer"))
	if !ok {
		return nil
	}
	final := at(data, "final")
	switch {
	case isTrue(at(data, "start_to_think")):
		s, a.thinking = "<think>", true
	case isTrue(at(data, "end_to_think")):
		s, a.thinking = "</think>", false
	case !a.thinking:
		a.hear(s)
	}
	if final == nil || isTrue(final) && s != "" {
		a.answer.s = a.answer.s[:0]
	}
	a.answer.s = append(a.answer.s, s...)
	a.o.take(p.data, "data")
	a.o.object("data").take(data, "final", "start_to_think", "end_to_think")
	return nil
}

func (a *ragFlow) result() node {
	if len(a.o.members) == 0 {
		return nil
	}
	a.o.object("data").set("answer", &a.answer)
	return &a.o
}

// cohere builds a message of its blocks.
type cohere struct {
	ear
	o object
}

func (a *cohere) add(p part) error {
	message := at(p.data, "delta.message")
	switch typeOf(p) {
	case "message-start":
		a.o.take(p.data, "type", "delta")
		a.o.object("message").take(message, "content", "citations")
		a.o.object("message").list("content")
	case "content-start", "content-delta":
		content := a.o.object("message").list("content")
		i, err := index(at(p.data, "index"), len(content.items))
		if err != nil {
			return err
		}
		block := content.object(i)
		for name, v := range evidence.Members(at(message, "content")) {
			s, isText := evidence.Text(v)
			if !isText || name == "type" {
				block.set(name, v.Clone())
				continue
			}
			if name == "text" {
				a.hear(s)
			}
			block.append(name, s)
		}
	case "citation-start":
		if v := at(message, "citations"); !evidence.IsNull(v) {
			a.o.object("message").list("citations").add(v)
		}
	case "message-end":
		a.o.take(at(p.data, "delta"), "error")
		a.whole = true
		if s := textAt(p.data, "delta.error"); s != "" {
			return &ServiceError{Message: s}
		}
	}
	return nil
}

func (a *cohere) result() node { return &a.o }

// gemini joins the parts of candidates.
type gemini struct {
	ear
	o object
}

func (a *gemini) add(p part) error {
	a.o.take(p.data, "candidates")
	candidates := a.o.list("candidates")
	for v := range evidence.Elements(at(p.data, "candidates")) {
		i := 0
		if place, ok := evidence.Member(v, "index"); ok {
			var err error
			if i, err = index(place, len(candidates.items)); err != nil {
				return err
			}
		}
		candidate := candidates.object(i)
		candidate.take(v, "content")
		content := candidate.object("content")
		content.take(at(v, "content"), "parts")
		for part := range evidence.Elements(at(v, "content.parts")) {
			a.hear(textAt(part, "text"))
			content.list("parts").add(part)
		}
		a.whole = a.whole || textAt(v, "finishReason") != ""
	}
	return nil
}

func (a *gemini) result() node { return &a.o }

// pinecone joins the chunks of a message.
type pinecone struct {
	ear
	o object
}

func (a *pinecone) add(p part) error {
	switch typeOf(p) {
	case "message_start":
		a.o.take(p.data, "type", "role")
		a.o.object("message").set("role", at(p.data, "role").Clone())
		a.o.list("citations")
	case "content_chunk":
		s := textAt(p.data, "delta.content")
		a.hear(s)
		a.o.object("message").append("content", s)
	case "citation":
		if v := at(p.data, "citation"); !evidence.IsNull(v) {
			a.o.list("citations").items = append(a.o.list("citations").items, v.Clone())
		}
	case "message_end":
		a.o.take(p.data, "type")
		a.whole = true
	}
	return nil
}

func (a *pinecone) result() node { return &a.o }

// lightRAG joins responses.
type lightRAG struct {
	ear
	o object
}

func (a *lightRAG) add(p part) error {
	a.o.take(p.data, "response")
	if s := textAt(p.data, "response"); s != "" {
		a.hear(s)
		a.o.append("response", s)
	}
	return nil
}

func (a *lightRAG) result() node { return &a.o }
