package httpsystem

import (
	"context"
	"sync"
	"time"
)

// bucket lets so many requests through per second, of all workers together. It
// holds as many tokens as may be taken at once. The nil bucket lets all through.
type bucket struct {
	every time.Duration // from one token to the next
	burst int
	now   func() time.Time
	sleep func(context.Context, time.Duration) error

	mu   sync.Mutex
	full time.Time // when the bucket is full again
}

func newBucket(perSecond float64, burst int, now func() time.Time, sleep func(context.Context, time.Duration) error) *bucket {
	if perSecond <= 0 {
		return nil
	}
	return &bucket{every: time.Duration(float64(time.Second) / perSecond), burst: max(burst, 1), now: now, sleep: sleep}
}

// wait takes a token, waits until it is there and returns how long that took.
// The error is the context's.
func (b *bucket) wait(ctx context.Context) (time.Duration, error) {
	if b == nil {
		return 0, nil
	}
	start := b.now()
	if d := b.take(start); d > 0 {
		err := b.sleep(ctx, d)
		return b.now().Sub(start), err
	}
	return 0, nil
}

// take takes a token and returns how long after now it is there.
func (b *bucket) take(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.full.Before(now) {
		b.full = now
	}
	there := b.full.Add(-time.Duration(b.burst-1) * b.every)
	b.full = b.full.Add(b.every)
	return there.Sub(now)
}
