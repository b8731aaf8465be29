package suite

import (
	"maps"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// stagesDomain is the domain of the content id of a staged system's stages.
const stagesDomain = "stages/v1"

// StagesDigest returns the content id of what answers the calls of the stages:
// name, version, config and what is run. How the stages are put together is not
// part of it, and the version of the index neither.
func (s *Suite) StagesDigest() evidence.Digest {
	m := meaning{"name": s.System.Name, "version": s.System.Version}
	if s.System.Config != nil {
		m["config"] = s.System.Config
	}
	maps.Copy(m, s.System.RAG.runs())
	return contentID(stagesDomain, m)
}
