package probe

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// lazily compiles a regular expression when it is first used, so that commands
// without one start as fast as they can.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// flat returns a key without case and separators: fileId, file_id and File-ID
// are fileid.
func flat(key string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, key)
}

func has(key string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(key, w) })
}

func is(key string, words ...string) bool { return slices.Contains(words, key) }

// isSpeaker reports whether a word names who speaks in a conversation.
func isSpeaker(word string) bool { return isAssistant(word) || isAsker(word) }

func isAssistant(word string) bool {
	return is(flat(word), "assistant", "ai", "model", "bot", "aimessage", "chatbot", "agent", "gleanai", "system2user")
}

func isAsker(word string) bool {
	return is(flat(word), "user", "human", "humanmessage", "customer", "system", "tool", "function", "developer")
}

func isTextBlock(word string) bool { return is(flat(word), "text", "outputtext", "message", "content") }

// answerWord says how much a key promises to hold the answer, from 0 to 10;
// below 0 it holds something else.
func answerWord(key string) int {
	k := flat(key)
	switch {
	case is(k, "answer", "answertext", "finalanswer", "generatedanswer", "answercitationless"):
		return 10
	case is(k, "response", "responsetext", "textresponse", "reply", "replies", "completion", "generatedtext", "generation", "assistant", "botresponse", "prediction"):
		return 8
	case is(k, "output", "outputtext", "result", "message", "summary", "generated"):
		return 6
	case is(k, "text", "content", "value", "body", "data"):
		return 5
	case has(k, "error", "exception", "traceback", "warning"),
		has(k, "question", "query", "queries", "prompt", "usermessage", "input", "request"),
		has(k, "reasoning", "thinking", "thought", "explanation"),
		has(k, "title", "description", "filename", "name", "url", "uri", "path", "model", "version", "status", "state", "date", "time", "stamp", "createdon", "updatedon"),
		has(k, "context", "source", "citation", "reference", "document", "chunk", "snippet", "passage", "highlight", "metadata", "usage"),
		k == "id" || strings.HasSuffix(k, "id"),
		is(k, "role", "type", "object", "author", "reason", "label", "followupprompts", "suggestions", "intent"):
		return -10
	case has(k, "answer"):
		return 8
	case has(k, "response", "reply"):
		return 6
	}
	return 1
}

// docWord says how much a key promises to name a document, from 0 to 10. parent
// is the key above it, "" when there is none.
func docWord(key, parent string) int {
	k, up := flat(key), flat(parent)
	switch {
	case has(k, "dataset", "index", "collection", "knowledgebase", "brain", "tenant", "workspace", "conversation", "message", "account", "embedding", "model", "tracking", "recipient", "sender", "user", "session", "request", "trace", "thread"),
		is(k, "type", "object", "lang", "language", "status", "role", "kind", "mime", "mimetype", "contenttype"):
		return -10
	case has(k, "chunk", "segment", "split", "node", "passage", "block", "snippet"):
		return -3
	case is(k, "docid", "documentid", "sourceid", "fileid", "articleid", "pageid", "artifactid", "docref", "documentref", "resourceid"):
		return 10
	case is(k, "doc", "document", "sourcedocument", "documentkey", "article", "kbid"):
		return 8
	case is(k, "id", "uuid", "key") && has(up, "doc", "file", "reference", "source", "article", "artifact"):
		return 9
	case is(k, "filename", "filepath", "originalfilename", "documentname", "docname", "file", "path", "objectkey"):
		return 7
	case is(k, "source", "artifact", "slug", "ref", "reference", "origin"):
		return 6
	case is(k, "uri", "url", "link", "href", "sourceuri", "sourceurl", "permalink", "semanticidentifier"), strings.HasSuffix(k, "sourceuri"):
		return 6
	case is(k, "id", "uuid", "uid", "guid", "key"):
		return 5
	case isTitle(key):
		return 4
	case strings.HasSuffix(k, "docid"), strings.HasSuffix(k, "documentid"):
		return 9
	case strings.HasSuffix(k, "id"):
		return 5
	}
	return -10
}

// isTitle reports whether a key holds what a document is called.
func isTitle(key string) bool { return is(flat(key), "title", "name", "documenttitle") }

// chunkWord says how much a key promises to name a passage inside a document.
func chunkWord(key, parent string) int {
	k := flat(key)
	switch {
	case is(k, "chunkid", "segmentid", "nodeid", "passageid", "splitid", "snippetid", "chunkref"), strings.HasSuffix(k, "chunkid"):
		return 10
	case is(k, "chunk", "chunkindex", "chunkind", "segment", "passage", "chunknumber"):
		return 8
	case is(k, "id", "uuid", "uid", "guid", "key") && !has(flat(parent), "doc", "file", "reference", "source", "article", "artifact"):
		return 6
	case is(k, "startindex", "offset"):
		return 3
	}
	return -10
}

// scoreWord says how much a key promises to hold the score of a passage.
func scoreWord(key string) int {
	k := flat(key)
	switch {
	case is(k, "score", "relevancescore", "relevance", "similarity", "rerankscore", "similarityscore", "searchscore"):
		return 10
	case has(k, "score"):
		return 7
	case is(k, "certainty", "confidence"): // a distance is none: it is best when it is small
		return 5
	}
	return -10
}

// textWord says how much a key promises to hold the text of a passage.
func textWord(key string) int {
	k := flat(key)
	switch {
	case is(k, "text", "content", "pagecontent", "passage", "chunk", "snippet", "body", "chunktext", "contentwithweight", "blurb", "excerpt"):
		return 10
	case is(k, "citation", "highlight", "highlights", "citedtext", "quote", "statement", "snippets", "extract", "matchedtext", "document"):
		return 8
	case has(k, "content", "text", "passage"):
		return 6
	case has(k, "title", "name", "url", "uri", "path", "question", "query", "description", "author"):
		return -10
	}
	return 0
}

// listWord says how much a key promises to hold sources, from 0 to 10; below 0
// it holds something else.
func listWord(key string) int {
	k := flat(key)
	switch {
	case has(k, "retriev", "sourcedocument", "sourcenode", "searchresult"):
		return 10
	case is(k, "sources", "documents", "docs", "contexts", "context", "chunks", "passages", "hits", "nodes", "snippets", "matches", "topdocuments", "groundingchunks", "references"):
		return 8
	case is(k, "results", "items", "entries", "records", "evidence", "facts", "supporting", "knowledge", "data"):
		return 5
	case has(k, "source", "document", "chunk", "context", "passage"):
		return 6
	case has(k, "citation", "annotation", "grounding"):
		return 3
	case has(k, "toolcall", "choice", "message", "history", "usage", "prompt", "logprob", "failure", "step", "action", "replies", "suggestion", "followup", "event"):
		return -4
	}
	return 0
}

// isCited reports whether a key names what an answer cites.
func isCited(key string) bool { return has(flat(key), "citation", "annotation") }

var (
	fileLike = lazily(`(?i)^[^\s/][^/\n]{0,200}\.(md|markdown|pdf|txt|html?|docx?|pptx?|xlsx?|csv|rst|json|adoc|yaml)$`)
	urlLike  = lazily(`(?i)^[a-z][a-z0-9+.-]*://\S+$`)
	hashLike = lazily(`(?i)^([0-9a-f]{32,}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$`)
	dateLike = lazily(`^\d{4}-\d\d-\d\d|^\d{1,2}/\d{1,2}/\d{4}`)
)
