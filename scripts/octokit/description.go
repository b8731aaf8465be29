package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// operations are those that are used, by path below /repos/{owner}/{repo}.
var operations = []struct{ method, path string }{
	{"get", ""},
	{"get", "/actions/artifacts"},
	{"get", "/actions/artifacts/{artifact_id}"},
	{"get", "/actions/artifacts/{artifact_id}/{archive_format}"},
	{"get", "/actions/runs/{run_id}"},
	{"get", "/actions/runs/{run_id}/artifacts"},
	{"get", "/actions/workflows/{workflow_id}/runs"},
	{"get", "/collaborators/{username}/permission"},
	{"get", "/commits"},
	{"get", "/commits/{ref}"},
	{"get", "/commits/{commit_sha}/pulls"},
	{"get", "/compare/{basehead}"},
	{"get", "/contents/{path}"},
	{"get", "/git/matching-refs/{ref}"},
	{"get", "/issues/{issue_number}/comments"},
	{"post", "/issues/{issue_number}/comments"},
	{"get", "/issues/{issue_number}/events"},
	{"get", "/issues/comments/{comment_id}"},
	{"patch", "/issues/comments/{comment_id}"},
	{"delete", "/issues/comments/{comment_id}"},
	{"get", "/pulls"},
	{"get", "/pulls/{pull_number}"},
	{"get", "/releases/assets/{asset_id}"},
	{"get", "/releases/tags/{tag}"},
}

// dropped are keys that validate nothing.
var dropped = []string{"description", "summary", "tags", "externalDocs", "operationId", "links", "deprecated"}

type object = map[string]any

// cutDescription returns the description of the operations above with the
// components that they refer to. It is one component to a line.
func cutDescription(b []byte) ([]byte, error) {
	var whole object
	if err := json.Unmarshal(b, &whole); err != nil {
		return nil, err
	}
	paths := object{}
	for _, o := range operations {
		path := "/repos/{owner}/{repo}" + o.path
		item, _ := whole["paths"].(object)[path].(object)
		operation, ok := item[o.method].(object)
		if !ok {
			return nil, fmt.Errorf("no %s %s", o.method, path)
		}
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path].(object)[o.method] = prune(operation, false)
	}
	used := object{}
	if err := collect(paths, whole["components"].(object), used); err != nil {
		return nil, err
	}
	info := whole["info"].(object)
	head := object{
		"title":   info["title"],
		"version": info["version"],
		"license": info["license"],
		"contact": info["contact"],
		"description": "Cut by scripts/octokit from npm @octokit/openapi, itself made of https://github.com/github/rest-api-description: " +
			"the operations used and the components they refer to, without descriptions.",
	}
	return write(whole["openapi"], head, paths, used)
}

// prune copies a part of the description without what validates nothing. The
// keys of named are names given by the description, not its keywords.
func prune(v any, named bool) any {
	switch v := v.(type) {
	case object:
		kept := object{}
		for k, child := range v {
			if !named && (slices.Contains(dropped, k) || strings.HasPrefix(k, "x-")) && k != "x-octokit" {
				// The description of a response is required.
				if _, response := v["content"]; k != "description" || !(response || v["headers"] != nil || len(v) == 1) {
					continue
				}
			}
			if !named && k == "x-octokit" {
				continue
			}
			names := !named && (k == "properties" || k == "responses" || k == "examples" || k == "content" || k == "headers")
			if k == "value" || k == "example" || k == "default" || k == "enum" {
				kept[k] = child
				continue
			}
			kept[k] = prune(child, names)
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i, child := range v {
			kept[i] = prune(child, false)
		}
		return kept
	}
	return v
}

// collect adds to used the components that v refers to, and theirs, by kind
// and name.
func collect(v any, components, used object) error {
	switch v := v.(type) {
	case object:
		if ref, ok := v["$ref"].(string); ok {
			kind, name, ok := strings.Cut(strings.TrimPrefix(ref, "#/components/"), "/")
			group, _ := components[kind].(object)
			if component, found := group[name]; ok && found {
				if used[kind] == nil {
					used[kind] = object{}
				}
				if used[kind].(object)[name] != nil {
					return nil
				}
				kept := prune(component, false)
				used[kind].(object)[name] = kept
				return collect(kept, components, used)
			}
			return fmt.Errorf("no component %s", ref)
		}
		for _, child := range v {
			if err := collect(child, components, used); err != nil {
				return err
			}
		}
	case []any:
		for _, child := range v {
			if err := collect(child, components, used); err != nil {
				return err
			}
		}
	}
	return nil
}

// write prints the description with sorted keys.
func write(version any, info, paths, components object) ([]byte, error) {
	var b bytes.Buffer
	line := func(format string, args ...any) {
		for i, a := range args {
			text, err := json.Marshal(a)
			if err != nil {
				panic(err) // it came from JSON
			}
			args[i] = text
		}
		fmt.Fprintf(&b, format, args...)
	}
	line("{\"openapi\":%s,\n\"info\":%s,\n\"paths\":{", version, info)
	group := func(o object) {
		for i, k := range slices.Sorted(maps.Keys(o)) {
			if i > 0 {
				b.WriteByte(',')
			}
			line("\n%s:%s", k, o[k])
		}
	}
	group(paths)
	b.WriteString("},\n\"components\":{")
	for i, kind := range slices.Sorted(maps.Keys(components)) {
		if i > 0 {
			b.WriteByte(',')
		}
		line("\n%s:{", kind)
		group(components[kind].(object))
		b.WriteByte('}')
	}
	b.WriteString("}}\n")
	return b.Bytes(), nil
}
