package suite

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	y "github.com/oloproof/oloproof-go/internal/strictyaml"
)

// VersionFrom is system.version_from: where the service says which version of it,
// or of its index, is deployed. One of Path and Header is set.
type VersionFrom struct {
	URL     string // with ${NAME} as written, or a path at the system's host; "" stands for every answer of the system
	Path    string // dotted path in the JSON body
	Header  string // of the response
	Headers []Header
	Of      string        // version or index_version
	Timeout time.Duration // of one attempt; 30 s by default
	Pos     Position
	KeyPos  map[string]Position // of each key's value that is written
}

// What a version that is read is of.
const (
	OfVersion = "version"
	OfIndex   = "index_version"
)

func (v *VersionFrom) table() *y.MapType {
	return y.Mapping(y.Table{
		{Key: "url", Type: y.String(y.Into(&v.URL)).Want("an http or https URL, or a path such as /version").Check(versionURL), Null: true,
			Doc: "URL that is asked with GET before the first case and after the last. A path, such as /version, is asked where the system is. Without it, header is that of every answer of the system."},
		{Key: "path", Type: y.String(y.Into(&v.Path)).Want("a dotted path").Check(dottedPath),
			Doc: "Where the version stands in the JSON body, as a dotted path; a text or a number."},
		{Key: "header", Type: y.String(y.Into(&v.Header)).Pattern(tokenPattern, "a header name (letters, digits and hyphens)"),
			Doc: "Header that holds the version."},
		{Key: "headers", Type: y.Entries(y.Into(&v.Headers), tokenPattern, "a header name (letters, digits and hyphens)", headerTable),
			Doc: "Headers of the request to url. ${NAME} in a value is read from the environment and never stored."},
		{Key: "of", Type: y.Enum(y.Into(&v.Of), OfVersion, OfIndex).Default(OfVersion),
			Doc: "What it is the version of: version is that of the system, index_version that of a staged system's index."},
		{Key: "timeout_s", Type: y.Seconds(y.Into(&v.Timeout)).Default(30),
			Doc: "Deadline of one attempt in seconds."},
	}).Keys(y.Into(&v.KeyPos)).OneOf("path", "header")
}

// versionURL checks a URL, or a path at the system's host.
func versionURL(text string) string {
	if strings.HasPrefix(text, "/") {
		if fault := references(text); fault != "" {
			return fault
		}
		return oneLine(text)
	}
	return staticURL(text)
}

// checkVersionFrom asks that what is read goes with the rest.
func (s *Suite) checkVersionFrom(f *y.File, d *draft) {
	v := s.System.VersionFrom
	if v == nil {
		return
	}
	fault := func(key, format string, args ...any) {
		at, ok := v.KeyPos[key]
		if !ok {
			at = v.Pos
		}
		f.Problem(at, format, args...)
	}
	if v.Of == OfVersion && d.versionKey() {
		fault("of", "system.version and system.version_from exclude each other: the version is either declared or read from the service")
	}
	if v.Of == OfIndex {
		switch rag := s.System.RAG; {
		case rag == nil:
			fault("of", "system.version_from.of: index_version needs a staged system (system.rag)")
		case rag.IndexVersion != "":
			fault("of", "system.rag.index_version and a version_from of index_version exclude each other: the version is either declared or read from the service")
		}
	}
	overHTTP := s.System.HTTP != nil
	placed := overHTTP || s.System.RAG != nil && s.System.RAG.HTTP != nil
	_, ofBody := v.KeyPos["path"]
	if _, written := v.KeyPos["url"]; written && v.URL == "" {
		return // it could not be read
	}
	switch {
	case v.URL == "" && ofBody:
		fault("path", "system.version_from.path needs a url, whose JSON body it is looked up in")
	case v.URL == "" && !overHTTP:
		fault("header", "system.version_from.header needs a url: only an endpoint (system.http) says it with every answer")
	case v.URL == "" && s.Cache:
		fault("header", "system.version_from.header needs a url when answers are reused (cache: true): what is not called does not say its version")
	case v.URL == "" && len(v.Headers) > 0:
		fault("headers", "system.version_from.headers are those of the request to url, and there is none")
	case strings.HasPrefix(v.URL, "/") && !placed:
		fault("url", "system.version_from.url is a path, and a system of kind %s has no URL that it could belong to: write the whole URL", s.System.Kind())
	}
}

// meaning is what belongs to the identity of the system.
func (v *VersionFrom) meaning() meaning {
	return meaning{"url": v.URL, "path": v.Path, "header": strings.ToLower(v.Header), "of": v.Of}
}

// ResolvedVersionFrom is where a version is read.
type ResolvedVersionFrom struct {
	URL     string // "" stands for every answer of the system
	Headers [][2]string
}

// versionFrom fills in where a version is read; system is the URL of the system.
func (x *expander) versionFrom(v *VersionFrom, system string) *ResolvedVersionFrom {
	r := &ResolvedVersionFrom{}
	at := v.Pos
	if where, ok := v.KeyPos["url"]; ok {
		at = where
	}
	switch {
	case v.URL == "":
	case strings.HasPrefix(v.URL, "/"):
		r.URL = atHostOf(system, x.expand("system.version_from.url", v.URL, at, func(string) string { return "" }))
	default:
		r.URL = x.expand("system.version_from.url", v.URL, at, checkURL)
		if x.opt.URL != "" && r.URL != "" && hostOf(r.URL) != hostOf(x.opt.URL) {
			x.problems.Add(x.suite.problem(at, "system.version_from.url is read at %s, and --url names a system at %s: write its path only, such as /version, and it is read where the system is", hostOf(r.URL), hostOf(x.opt.URL)))
		}
	}
	for _, h := range v.Headers {
		r.Headers = append(r.Headers, [2]string{h.Name, x.expand("system.version_from.headers."+h.Name, h.Value, h.Pos, valueFault(headerValue))})
	}
	return r
}

// atHostOf returns the URL of a path at the host of another URL.
func atHostOf(raw, path string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	rest, err := url.Parse(path)
	if err != nil {
		return ""
	}
	u.Path, u.RawPath, u.RawQuery, u.Fragment = rest.Path, rest.RawPath, rest.RawQuery, ""
	return u.String()
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

// Read returns the version that a response holds. The error says what is wrong,
// without the response's own words beyond a few.
func (v *VersionFrom) Read(header func(name string) string, body []byte) (string, error) {
	if v.Header != "" {
		version := strings.TrimSpace(header(v.Header))
		if version == "" {
			return "", fmt.Errorf("the response has no header %s", v.Header)
		}
		return version, checkVersion(version)
	}
	document, err := evidence.ParseJSON(body)
	if err != nil {
		return "", fmt.Errorf("the body is no JSON: %w", err)
	}
	found, err := evidence.Lookup(document, v.Path)
	if err != nil {
		return "", err
	}
	version, isText := evidence.Text(found)
	switch {
	case !isText && found.Kind() == '0':
		version = string(found)
	case !isText || strings.TrimSpace(version) == "":
		return "", fmt.Errorf("want a version at %q, a text or a number, found %s", v.Path, evidence.Shorten(found, 60))
	}
	return strings.TrimSpace(version), checkVersion(version)
}

// longestVersion is how many bytes a version may have that is read.
const longestVersion = 200

func checkVersion(version string) error {
	if len(version) > longestVersion || slices.ContainsFunc([]rune(version), func(r rune) bool { return r < ' ' }) {
		return fmt.Errorf("what stands there is no version: it is longer than %d bytes, or has a line break", longestVersion)
	}
	return nil
}
