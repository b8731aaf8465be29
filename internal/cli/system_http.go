package cli

import (
	"math/rand/v2"

	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/stream"
	"github.com/oloproof/oloproof-go/internal/suite"
	httpsystem "github.com/oloproof/oloproof-go/internal/system/http"
)

func (x *activeRun) openHTTP(concurrency int) (*system, error) {
	h := x.project.suite.System.HTTP
	transport, closeTransport := x.watched(concurrency)
	if x.around != nil {
		if transport == nil {
			own := httpsystem.NewTransport(concurrency)
			transport, closeTransport = own, own.CloseIdleConnections
		}
		transport = x.around(transport)
	}
	s, err := httpsystem.New(httpsystem.Config{
		URL: x.resolved.URL, Method: h.Method, Headers: x.resolved.Headers, Timeout: h.Timeout,
		OutputPath: h.OutputPath, Artifacts: h.Artifacts, MaxBody: h.MaxBody,
		Mapping: h.Mapping, Calls: x.resolved.Calls, UUID: (&uuids{random: x.env.Rand}).next,
		Concurrency: concurrency, UserAgent: "oloproof/" + Version(), Redact: x.redact,
		Limits: h.Limits, Stream: streamOptions(h),
		Now: x.env.Now, Sleep: x.env.sleep, Random: rand.Float64, Transport: transport,
	})
	if err != nil {
		closeTransport()
		return nil, err
	}
	return &system{System: s, close: func() { s.Close(); closeTransport() }, called: report.Clean(x.publicURL())}, nil
}

func streamOptions(h *suite.HTTP) *stream.Options {
	if h.Stream == nil {
		return nil
	}
	return &h.Stream.Options
}
