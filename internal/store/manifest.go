package store

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// idLength is that of a run id: run_ and a ULID.
const idLength = len(idPrefix) + 26

const idPrefix = "run_"

// validID reports whether id is a run id in its stored form. A run id becomes
// part of a path, so nothing else does.
func validID(id string) bool {
	return len(id) == idLength && strings.HasPrefix(id, idPrefix) && isCrockford(id[len(idPrefix):])
}

// isCrockford reports whether s is digits of a ULID.
func isCrockford(s string) bool {
	return strings.Trim(s, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == ""
}

// PythonBundleError is a bundle that the Python tool exported.
type PythonBundleError struct {
	Version string // its schema_version
}

// Error says that such a bundle is not read.
func (e *PythonBundleError) Error() string {
	return fmt.Sprintf("a bundle of the Python tool (schema_version %s) is not supported yet", e.Version)
}

// parseManifest reads run.json. Keys that it does not know are skipped, so that
// later versions may add some.
func parseManifest(b []byte) (*evidence.Manifest, error) {
	var head struct {
		Schema        string         `json:"schema"`
		SchemaVersion jsontext.Value `json:"schema_version"`
		Tool          struct {
			Version string `json:"version"`
		} `json:"tool"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	switch {
	case head.Schema == "" && len(head.SchemaVersion) > 0:
		return nil, &PythonBundleError{Version: strings.Trim(string(head.SchemaVersion), `"`)}
	case head.Schema == "":
		return nil, fmt.Errorf("no run: it has no schema, want %q", evidence.RunSchema)
	case head.Schema != evidence.RunSchema && strings.HasPrefix(head.Schema, "oloproof/run/"):
		return nil, fmt.Errorf("schema %q, written by oloproof %s, is newer than this version, which reads %q: update oloproof",
			head.Schema, cmp.Or(head.Tool.Version, "of unknown version"), evidence.RunSchema)
	case head.Schema != evidence.RunSchema:
		return nil, fmt.Errorf("schema %q is not that of a run, want %q", head.Schema, evidence.RunSchema)
	}
	var m evidence.Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	if err := checkManifest(&m); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	return &m, nil
}

// checkManifest checks what reading the run relies on.
func checkManifest(m *evidence.Manifest) error {
	switch {
	case !validID(m.ID):
		return fmt.Errorf("id %q is no run id", m.ID)
	case m.Dataset.Cases < 1 || m.Dataset.Cases > maxCases:
		return fmt.Errorf("dataset.cases is %d, want 1 to %d", m.Dataset.Cases, maxCases)
	case m.Completeness != evidence.Complete && m.Completeness != evidence.Partial:
		return fmt.Errorf("completeness %q, want %s or %s", m.Completeness, evidence.Complete, evidence.Partial)
	case !slices.Contains([]evidence.RunStatus{evidence.RunRunning, evidence.RunDecided, evidence.RunExplored, evidence.RunError, evidence.RunCanceled}, m.Status):
		return fmt.Errorf("status %q is none", m.Status)
	case m.Completeness == evidence.Complete && len(m.Files) == 0:
		return errors.New("it is COMPLETE and names no files")
	}
	if err := checkFiles(m.Files); err != nil {
		return err
	}
	return checkMetrics(m)
}

func checkFiles(files []evidence.File) error {
	seen := map[string]bool{}
	for _, f := range files {
		sum, err := hex.DecodeString(f.SHA256)
		switch {
		case f.Name != judgmentsFile && f.Name != casesFile:
			return fmt.Errorf("files names %q, want %s and %s", f.Name, judgmentsFile, casesFile)
		case seen[f.Name]:
			return fmt.Errorf("files names %s twice", f.Name)
		case err != nil || len(sum) != 32 || f.SHA256 != strings.ToLower(f.SHA256):
			return fmt.Errorf("sha256 %q of %s is no SHA-256 in lower case hex", f.SHA256, f.Name)
		}
		seen[f.Name] = true
	}
	if len(files) > 0 && !seen[judgmentsFile] {
		return fmt.Errorf("files does not name %s", judgmentsFile)
	}
	return nil
}

func checkMetrics(m *evidence.Manifest) error {
	seen := map[string]bool{}
	for _, spec := range m.Metrics {
		low, high := spec.Range[0], spec.Range[1]
		switch {
		case spec.ID == "" || seen[spec.ID]:
			return fmt.Errorf("metric %q has no id of its own", spec.ID)
		case spec.Kind == evidence.Quantile && (spec.Quantile <= 0 || spec.Quantile >= 1):
			return fmt.Errorf("metric %q is the quantile %v, want a number between 0 and 1", spec.ID, spec.Quantile)
		case spec.Kind == evidence.Mean && !(low < high && !math.IsInf(high-low, 0)):
			return fmt.Errorf("metric %q has the range [%v, %v]", spec.ID, low, high)
		case spec.Kind != evidence.Rate && spec.Kind != evidence.Mean && spec.Kind != evidence.Quantile:
			return fmt.Errorf("metric %q is of the kind %q, want rate, mean or quantile", spec.ID, spec.Kind)
		}
		seen[spec.ID] = true
	}
	for i, name := range m.Slices {
		if slices.Contains(m.Slices[:i], name) {
			return fmt.Errorf("slice %q stands twice", name)
		}
	}
	return nil
}
