package httpsystem

var (
	RetryAfter    = retryAfter
	Jitter        = jitter
	Clean         = clean
	Reason        = reason
	WithoutUser   = withoutUserinfo
	MaxRetryAfter = maxRetryAfter
)
