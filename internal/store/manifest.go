package store

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

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

// parseManifest reads run.json. Keys that it does not know are skipped, so that
// later versions may add some.
func parseManifest(b []byte) (*evidence.Manifest, error) {
	var head struct {
		Schema string `json:"schema"`
		Tool   struct {
			Version string `json:"version"`
		} `json:"tool"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	switch {
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
	for i := range m.Metrics { // run.json is indented
		spec := &m.Metrics[i]
		if spec.Options == nil {
			continue
		}
		var err error
		if spec.Options, err = evidence.Canonical(spec.Options); err != nil {
			return nil, fmt.Errorf("damaged: options of metric %q: %w", spec.ID, err)
		}
	}
	if err := checkManifest(&m); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	return &m, nil
}

// fewestCases is how many cases a run has at least. A shard may have none.
func fewestCases(m *evidence.Manifest) int {
	if m.Shard != nil {
		return 0
	}
	return 1
}

// checkShard checks what merging shards relies on.
func checkShard(m *evidence.Manifest) error {
	s := m.Shard
	switch {
	case s.Of < 1 || s.Index < 1 || s.Index > s.Of:
		return fmt.Errorf("shard %d of %d is none", s.Index, s.Of)
	case s.Total < 1 || s.Total > maxCases:
		return fmt.Errorf("shard.total is %d, want 1 to %d", s.Total, maxCases)
	case len(s.Places) != m.Dataset.Cases:
		return fmt.Errorf("shard.places names %d cases, dataset.cases is %d", len(s.Places), m.Dataset.Cases)
	}
	last := -1
	for _, place := range s.Places {
		if place <= last || place >= s.Total {
			return fmt.Errorf("shard.places has %d after %d of %d cases", place, last, s.Total)
		}
		last = place
	}
	return nil
}

// checkManifest checks what reading the run relies on.
func checkManifest(m *evidence.Manifest) error {
	switch {
	case !validID(m.ID):
		return fmt.Errorf("id %q is no run id", m.ID)
	case m.Dataset.Cases < fewestCases(m) || m.Dataset.Cases > maxCases:
		return fmt.Errorf("dataset.cases is %d, want %d to %d", m.Dataset.Cases, fewestCases(m), maxCases)
	case m.Shard != nil:
		if err := checkShard(m); err != nil {
			return err
		}
	}
	switch {
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

// measurable reports whether a metric is one that is measured here.
func measurable(spec evidence.MetricSpec) bool {
	unit, ok := evidence.UnitOf(spec.Source)
	if p := spec.Prices; p != nil && (spec.Source != evidence.SourceCost || !(p.Input >= 0) || !(p.Output >= 0)) {
		return false
	}
	return ok && unit == spec.Unit && (spec.Kind == evidence.Rate) == (spec.Source == evidence.SourceError)
}

func checkMetrics(m *evidence.Manifest) error {
	if len(m.Metrics) > maxMetrics || len(m.Slices) > maxSlices {
		return fmt.Errorf("%d metrics and %d slices, at most %d and %d are read", len(m.Metrics), len(m.Slices), maxMetrics, maxSlices)
	}
	seen := map[string]bool{}
	for _, spec := range m.Metrics {
		switch {
		case spec.ID == "" || seen[spec.ID]:
			return fmt.Errorf("metric %q has no id of its own", spec.ID)
		case spec.Kind == evidence.Quantile && (spec.Quantile <= 0 || spec.Quantile >= 1):
			return fmt.Errorf("metric %q is the quantile %v, want a number between 0 and 1", spec.ID, spec.Quantile)
		case !spec.Judged() && !measurable(spec):
			return fmt.Errorf("metric %q is the %s of %q in %q, which this version does not read", spec.ID, spec.Kind, spec.Source, spec.Unit)
		case spec.Kind == evidence.Mean && !spec.Bounded() && (spec.Judged() || spec.Range != [2]float64{}):
			return fmt.Errorf("metric %q has the range [%v, %v]", spec.ID, spec.Range[0], spec.Range[1])
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
