package httpsystem

var (
	RetryAfter    = retryAfter
	WaitAsked     = waitAsked
	Jitter        = jitter
	Clean         = clean
	Reason        = reason
	WithoutUser   = withoutUserinfo
	MaxRetryAfter = maxRetryAfter
)
