package httpsystem

import (
	"crypto/tls"
	"net/http"
)

// NewTransport is our own transport, with other TLS settings.
func NewTransport(concurrency int, settings *tls.Config) *http.Transport {
	t := newTransport(concurrency)
	t.TLSClientConfig = settings
	return t
}

var (
	RetryAfter    = retryAfter
	Jitter        = jitter
	Clean         = clean
	Reason        = reason
	WithoutUser   = withoutUserinfo
	MaxRetryAfter = maxRetryAfter
)
