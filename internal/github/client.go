package github

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-github/v62/github"
	"github.com/hashicorp/go-retryablehttp"
)

const (
	// callsTime is how long the calls after one [Client.Begin] may take
	// together, waits included.
	callsTime = 60 * time.Second
	// maxAnswer is the most bytes of one answer that are read.
	maxAnswer = 64 << 20
	perPage   = 100 // GitHub's maximum
)

// Config is what a Client needs of the world. Environment is required; the
// zero value of the others stands for the usual.
type Config struct {
	Environment *Environment
	Token       string // goes to the API's host only; empty means none
	UserAgent   string
	// Transport carries requests of the API and of downloads. A nil one has the
	// proxy of the process's environment.
	Transport *http.Transport
	Now       func() time.Time
	Sleep     func(ctx context.Context, d time.Duration) error
	Random    func() float64 // uniform in [0,1)
	Patience  time.Duration  // for one answer; 20 s when it is 0
	// Mask is told what must not appear in logs: the signatures of download
	// addresses.
	Mask func(secret string)
}

// Client is a client of one repository's API. It is safe for concurrent use.
//
// No redirect is followed: the token must not travel with one. GET, PATCH, PUT
// and DELETE are retried after 5xx, 429, secondary rate limits and broken
// connections, at most three times and within the time that is left; POST
// never.
type Client struct {
	// API is go-github's client over the same transport.
	API *github.Client

	env      *Environment
	http     *http.Client
	base     *url.URL
	blobs    *http.Transport // without the token
	now      func() time.Time
	mask     func(string)
	requests atomic.Int64
}

// NewClient returns a client of the environment's repository.
func NewClient(cfg Config) (*Client, error) {
	base, err := url.Parse(cfg.Environment.APIURL + "/")
	if err != nil {
		return nil, fmt.Errorf("GITHUB_API_URL: %w", err)
	}
	setDefaults(&cfg)
	c := &Client{env: cfg.Environment, base: base, blobs: cfg.Transport, now: cfg.Now, mask: cfg.Mask}
	attempts := &attempts{base: cfg.Transport, host: base, token: cfg.Token, count: &c.requests, patience: cfg.Patience}
	retries := &retries{now: cfg.Now, sleep: cfg.Sleep, random: cfg.Random}
	retries.client = &retryablehttp.Client{
		HTTPClient:   &http.Client{Transport: attempts, CheckRedirect: stay},
		RetryMax:     maxRetries,
		CheckRetry:   retries.check,
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return 0 },
		PrepareRetry: retries.wait,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	c.http = &http.Client{Transport: retries, CheckRedirect: stay}
	c.API = github.NewClient(c.http)
	c.API.BaseURL = base
	c.API.UserAgent = cfg.UserAgent
	return c, nil
}

func setDefaults(cfg *Config) {
	if cfg.Transport == nil {
		cfg.Transport = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			ForceAttemptHTTP2:   true,
			TLSHandshakeTimeout: 10 * time.Second,
			IdleConnTimeout:     90 * time.Second,
		}
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "oloproof"
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	if cfg.Random == nil {
		cfg.Random = rand.Float64
	}
	if cfg.Patience == 0 {
		cfg.Patience = attemptTime
	}
	if cfg.Mask == nil {
		cfg.Mask = func(string) {}
	}
}

// stay follows no redirect.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// sleep waits for d or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// Requests returns how many requests were sent to the API, retries included.
func (c *Client) Requests() int { return int(c.requests.Load()) }

// Begin returns a context whose calls share one minute, waits included. A call
// with another context has a minute of its own. Begun again it stays as it is.
func (c *Client) Begin(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Value(untilKey{}) != nil {
		return context.WithCancel(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callsTime, errOutOfTime)
	return context.WithValue(ctx, untilKey{}, c.now().Add(callsTime)), cancel
}

type untilKey struct{}

// repo returns the path of something in the repository; segments are escaped.
func (c *Client) repo(segments ...string) string {
	var b strings.Builder
	b.WriteString("repos/" + c.env.Owner + "/" + c.env.Repo)
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
	return b.String()
}

// get decodes the answer to a GET. Doing says what for, in messages.
func (c *Client) get(ctx context.Context, doing, path string, query url.Values, into any) (http.Header, error) {
	res, err := c.send(ctx, doing, path, query, "")
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil {
		return nil, Explain(doing, err)
	}
	if err := decode(b, into); err != nil {
		return nil, &APIError{Doing: doing, Status: res.StatusCode, Reason: Unexpected, Message: "the answer is not the JSON that was expected", Err: err}
	}
	return res.Header, nil
}

// send returns an answer of the 200s. Its body is in memory.
func (c *Client) send(ctx context.Context, doing, path string, query url.Values, accept string) (*http.Response, error) {
	res, err := c.ask(ctx, doing, path, query, accept)
	if err != nil {
		return nil, err
	}
	if err := checkAnswer(res); err != nil {
		return nil, Explain(doing, err)
	}
	return res, nil
}

// checkAnswer returns an error of go-github for an answer outside the 200s.
func checkAnswer(res *http.Response) error { return github.CheckResponse(res) }

// ask returns the answer to a GET, whatever its status.
func (c *Client) ask(ctx context.Context, doing, path string, query url.Values, accept string) (*http.Response, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	req, err := c.API.NewRequest(http.MethodGet, path, nil)
	if err != nil {
		return nil, Explain(doing, err)
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	res, err := c.http.Do(req.WithContext(ctx))
	if err != nil {
		return nil, Explain(doing, err)
	}
	return res, nil
}

// pages decodes a list page by page, until it ends, stop says so, or max pages
// were read. It reports whether the list was read to its end.
func pages[T any](ctx context.Context, c *Client, doing, path string, query url.Values, max int, each func(T) (stop bool)) (whole bool, err error) {
	if query == nil {
		query = url.Values{}
	}
	query.Set("per_page", strconv.Itoa(perPage))
	for page := 1; page <= max; page++ {
		if page > 1 {
			query.Set("page", strconv.Itoa(page))
		}
		var got T
		header, err := c.get(ctx, doing, path, query, &got)
		if err != nil {
			return false, err
		}
		if each(got) {
			return false, nil
		}
		if !strings.Contains(header.Get("Link"), `rel="next"`) {
			return true, nil
		}
	}
	return false, nil
}

// attempts sends single requests: it adds the token, and reads the whole
// answer, so that a connection that breaks in the middle is retried too.
type attempts struct {
	base     http.RoundTripper
	host     *url.URL
	token    string
	count    *atomic.Int64
	patience time.Duration // for one attempt
}

var errTooLarge = errors.New("the answer is too large")

func (a *attempts) RoundTrip(req *http.Request) (*http.Response, error) {
	a.count.Add(1)
	ctx, cancel := context.WithTimeout(req.Context(), a.patience)
	defer cancel()
	req = req.Clone(ctx)
	// go-github would send the token to any host that it is led to.
	if a.token != "" && req.URL.Scheme == a.host.Scheme && req.URL.Host == a.host.Host {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	res, err := a.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(b) > maxAnswer {
		return nil, errTooLarge
	}
	kept := *res
	kept.Body = io.NopCloser(bytes.NewReader(b))
	return &kept, nil
}
