package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// events are the examples that tests start from: the first of that action.
var events = []struct{ name, action string }{
	{"merge_group", "checks_requested"},
	{"pull_request", "labeled"},
	{"pull_request", "synchronize"},
	{"push", ""},
	{"workflow_dispatch", ""},
	{"workflow_run", "completed"},
}

// writeEvents writes each event to a file of its own.
func writeEvents(index []byte, dir string) error {
	var all []struct {
		Name     string   `json:"name"`
		Examples []object `json:"examples"`
	}
	if err := json.Unmarshal(index, &all); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, e := range events {
		var found object
		for _, group := range all {
			for _, example := range group.Examples {
				action, _ := example["action"].(string)
				if group.Name == e.name && action == e.action && found == nil {
					found = example
				}
			}
		}
		if found == nil {
			return fmt.Errorf("no example of %s %s", e.name, e.action)
		}
		b, err := json.MarshalIndent(trim(found), "", " ")
		if err != nil {
			return err
		}
		name := strings.Trim(e.name+"-"+e.action, "-") + ".json"
		if err := os.WriteFile(filepath.Join(dir, name), append(b, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// trim leaves out links, which nothing reads.
func trim(v any) any {
	switch v := v.(type) {
	case object:
		kept := object{}
		for k, child := range v {
			if k == "_links" || k == "node_id" || k == "gravatar_id" || strings.HasSuffix(k, "_url") {
				continue
			}
			kept[k] = trim(child)
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i, child := range v {
			kept[i] = trim(child)
		}
		return kept
	}
	return v
}
