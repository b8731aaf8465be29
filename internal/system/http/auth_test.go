package httpsystem_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/suite"
	httpsystem "github.com/oloproof/oloproof-go/internal/system/http"
)

// TestFixedCredentials: each kind that never changes, on the wire.
func TestFixedCredentials(t *testing.T) {
	for _, tt := range []struct {
		name   string
		auth   suite.Auth
		header string // "" is the query
		want   string
	}{
		{"bearer", suite.Auth{Kind: "bearer", Token: "t0ken"}, "Authorization", "Bearer t0ken"},
		{"header", suite.Auth{Kind: "header", Name: "api-key", Value: "ApiKey k"}, "Api-Key", "ApiKey k"},
		{"basic", suite.Auth{Kind: "basic", User: "me", Password: "p:ß"}, "Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("me:p:ß"))},
		{"query", suite.Auth{Kind: "query", Name: "key", Value: "a&b=c d"}, "", "k=v&key=a%26b%3Dc+d"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got string
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if got = r.Header.Get(tt.header); tt.header == "" {
					got = r.URL.RawQuery
				}
				body, _ := io.ReadAll(r.Body)
				fmt.Fprintf(w, `{"result":%q}`, body)
			})
			cfg := config(server.URL + "/answer?k=v")
			cfg.Auth = &tt.auth
			e := mustAnswer(t, newSystem(t, cfg))
			if got != tt.want || string(e.Output) != `"{}"` {
				t.Errorf("got %q and the body %s, want %q", got, e.Output, tt.want)
			}
		})
	}
}

// issuer is a token endpoint, and a service that takes its tokens.
type issuer struct {
	mu      sync.Mutex
	issued  int
	asked   []string // what each request for a token said
	expires string   // JSON of expires_in; "" is none
	refused map[string]bool
	status  int // of the token endpoint, instead of an answer
	body    string
	calls   int // of the service
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	if r.URL.Path == "/token" {
		i.issued++
		i.asked = append(i.asked, r.Header.Get("Authorization")+" "+string(body))
		switch {
		case i.status != 0:
			w.WriteHeader(i.status)
			fallthrough
		case i.body != "":
			_, _ = io.WriteString(w, i.body)
		case i.expires != "":
			fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"bearer","expires_in":%s}`, i.issued, i.expires)
		default:
			fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"bearer"}`, i.issued)
		}
		return
	}
	i.calls++
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if i.refused[token] {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"%s is not known"}`, token)
		return
	}
	fmt.Fprintf(w, `{"result":"you showed %s","body":%q}`, token, body)
}

// oauth makes a configuration that gets its tokens from /token.
func oauth(base string, o suite.OAuth2) httpsystem.Config {
	cfg := config(base + "/answer")
	o.TokenURL, o.ClientID, o.ClientSecret = base+"/token", "client", "s3cret&more"
	cfg.Auth = &suite.Auth{Kind: "oauth2", OAuth2: o}
	cfg.Redact = redact.New([]string{o.ClientSecret, o.ClientID + ":" + o.ClientSecret})
	return cfg
}

func TestOAuth2(t *testing.T) {
	t.Run("one token for all, and what is sent for it", func(t *testing.T) {
		i := &issuer{}
		server := serve(t, i.ServeHTTP)
		s := newSystem(t, oauth(server.URL, suite.OAuth2{Scopes: []string{"read", "ask"}, Audience: "https://rag.example/"}))
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if e, err := s.Execute(t.Context(), aCase(`{"q":1}`)); err != nil || string(e.Output) != `"you showed token-1"` {
					t.Errorf("Execute = %+v, %v", e, err)
				}
			})
		}
		wg.Wait()
		basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("client:s3cret%26more")) // form-encoded first, RFC 6749 2.3.1
		want := []string{basic + " audience=https%3A%2F%2Frag.example%2F&grant_type=client_credentials&scope=read+ask"}
		if !slices.Equal(i.asked, want) {
			t.Errorf("asked %q, want %q", i.asked, want)
		}
	})
	t.Run("credentials in the body", func(t *testing.T) {
		i := &issuer{}
		server := serve(t, i.ServeHTTP)
		mustAnswer(t, newSystem(t, oauth(server.URL, suite.OAuth2{InBody: true})))
		if want := " client_id=client&client_secret=s3cret%26more&grant_type=client_credentials"; len(i.asked) != 1 || i.asked[0] != want {
			t.Errorf("asked %q, want %q", i.asked, want)
		}
	})
	t.Run("created", func(t *testing.T) {
		i := &issuer{status: http.StatusCreated, body: `{"access_token":"token-1"}`}
		server := serve(t, i.ServeHTTP)
		mustAnswer(t, newSystem(t, oauth(server.URL, suite.OAuth2{})))
	})
	t.Run("renewed before it expires", func(t *testing.T) {
		i := &issuer{expires: "600"}
		server := serve(t, i.ServeHTTP)
		clock := &fakeClock{now: time.Unix(1e9, 0)}
		cfg := oauth(server.URL, suite.OAuth2{})
		cfg.Now = clock.Now
		s := newSystem(t, cfg)
		for _, step := range []struct {
			after  time.Duration
			issued int
		}{{0, 1}, {539 * time.Second, 1}, {2 * time.Second, 2}, {time.Hour, 3}} {
			_ = clock.Sleep(t.Context(), step.after)
			mustAnswer(t, s)
			if i.issued != step.issued {
				t.Errorf("%s later: %d tokens, want %d", step.after, i.issued, step.issued)
			}
		}
	})
	t.Run("text and nonsense as expires_in", func(t *testing.T) {
		for _, expires := range []string{`"600"`, `null`, `"soon"`, `-3`, `{}`, `1e400`} {
			i := &issuer{expires: expires}
			if expires == `1e400` {
				i.expires = `1e300`
			}
			server := serve(t, i.ServeHTTP)
			s := newSystem(t, oauth(server.URL, suite.OAuth2{}))
			mustAnswer(t, s)
			mustAnswer(t, s)
			if i.issued != 1 {
				t.Errorf("expires_in %s: %d tokens, want 1", expires, i.issued)
			}
		}
	})
	t.Run("refused at once, renewed once", func(t *testing.T) {
		i := &issuer{refused: map[string]bool{"token-1": true}}
		server := serve(t, i.ServeHTTP)
		cfg := oauth(server.URL, suite.OAuth2{})
		cfg.Limits.Retries = 0
		e := mustAnswer(t, newSystem(t, cfg))
		if string(e.Output) != `"you showed token-2"` || len(e.Attempts) != 1 || i.issued != 2 {
			t.Errorf("%s in %d attempts with %d tokens, want token-2 in one", e.Output, len(e.Attempts), i.issued)
		}
	})
	t.Run("revoked in the middle", func(t *testing.T) {
		i := &issuer{refused: map[string]bool{}}
		server := serve(t, i.ServeHTTP)
		s := newSystem(t, oauth(server.URL, suite.OAuth2{}))
		mustAnswer(t, s)
		for n := 1; n <= 3; n++ {
			i.refused[fmt.Sprintf("token-%d", n)] = true
			if e := mustAnswer(t, s); string(e.Output) != fmt.Sprintf(`"you showed token-%d"`, n+1) {
				t.Errorf("output %s after token-%d was revoked", e.Output, n)
			}
		}
	})
	t.Run("all refused: no storm of tokens", func(t *testing.T) {
		i := &issuer{refused: map[string]bool{}}
		for n := range 100 {
			i.refused[fmt.Sprintf("token-%d", n)] = true
		}
		server := serve(t, i.ServeHTTP)
		s := newSystem(t, oauth(server.URL, suite.OAuth2{}))
		for range 10 {
			e, err := s.Execute(t.Context(), aCase(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			checkExecution(t, e, server.URL+"/answer", "", evidence.ErrStatus, 1, "")
			if strings.Contains(e.Error.Message, "token-") {
				t.Errorf("the token is shown: %s", e.Error.Message)
			}
		}
		if i.issued != 2 {
			t.Errorf("%d tokens, want 2", i.issued)
		}
	})
	for _, tt := range []struct {
		name     string
		status   int
		body     string
		attempts int
		message  string
	}{
		{"refused", 401, `{"error":"invalid_client","error_description":"unknown client s3cret&more"}`, 1, "no token, TOKEN answered with status 401 Unauthorized: invalid_client unknown client [redacted], no request from URL"},
		{"what was sent comes back", 401, `{"error":"no ` + base64.StdEncoding.EncodeToString([]byte("client:s3cret%26more")) + `"}`, 1, "no token, TOKEN answered with status 401 Unauthorized: no [redacted], no request from URL"},
		{"down", 503, "try later", 4, "no token, TOKEN answered with status 503 Service Unavailable: try later, no request from URL after 4 attempts"},
		{"a page", 0, "<html>", 1, "no token, TOKEN answered with what is no JSON: invalid character '<' at start of value (at byte 0), no request from URL"},
		{"no token", 0, "{}", 1, "no token, TOKEN answered without access_token, no request from URL"},
		{"another type", 0, `{"access_token":"x","token_type":"mac"}`, 1, "no token, TOKEN gave a token of the type mac, and only bearer is understood, no request from URL"},
		{"line break in it", 0, `{"access_token":"x\r\nX-Evil: 1"}`, 1, "no token, TOKEN gave a token that holds white space or characters outside ASCII, no request from URL"},
		{"an error with a token", 403, `{"access_token":"xyz-12345","refresh_token":"abc-12345"}`, 1, `no token, TOKEN answered with status 403 Forbidden: {"access_token":"[redacted]","refresh_token":"[redacted]"}, no request from URL`},
		{"a redirect", 302, "", 1, "no token, TOKEN answered with status 302 Found, no request from URL"},
		{"endless", 0, strings.Repeat("x", 2<<20), 1, "no token, TOKEN gave no answer that could be read, no request from URL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i := &issuer{status: tt.status, body: tt.body}
			server := serve(t, i.ServeHTTP)
			e, err := newSystem(t, oauth(server.URL, suite.OAuth2{})).Execute(t.Context(), aCase(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			checkExecution(t, e, server.URL+"/answer", "", evidence.ErrAuth, tt.attempts, "")
			got := strings.NewReplacer(server.URL+"/token", "TOKEN", server.URL+"/answer", "URL").Replace(e.Error.Message)
			if got != tt.message || i.calls > 0 {
				t.Errorf("message = %q with %d calls, want %q without", got, i.calls, tt.message)
			}
		})
	}
}

// TestCommandToken: a program prints the token.
func TestCommandToken(t *testing.T) {
	for _, tt := range []struct {
		name    string
		printed string
		err     error
		expires time.Duration
		tokens  int // after a day
		message string
	}{
		{"alone", "t0ken\n", nil, 0, 1, ""},
		{"alone, for an hour", "t0ken", nil, time.Hour, 2, ""},
		{"as gcloud and aws do", `{"access_token":"t0ken","expires_in":3599}`, nil, 0, 2, ""},
		{"as az does", `{"accessToken": "t0ken", "tokenType": "Bearer"}`, nil, 0, 1, ""},
		{"nothing", " \n", nil, 0, 1, "the program of system.http.auth.command printed nothing"},
		{"two lines", "warning: old\nt0ken\n", nil, 0, 1, "the program of system.http.auth.command printed more than a token: want one word, or JSON with token and expires_in"},
		{"other JSON", `{"error":"no"}`, nil, 0, 1, "the program of system.http.auth.command printed JSON without token or access_token"},
		{"broken JSON", `{`, nil, 0, 1, "the program of system.http.auth.command printed JSON that cannot be read"},
		{"fails", "", errors.New("gcloud failed (exit status 1): not logged in"), 0, 1, "the program of system.http.auth.command: gcloud failed (exit status 1): not logged in"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i := &issuer{}
			server := serve(t, i.ServeHTTP)
			clock := &fakeClock{now: time.Unix(1e9, 0)}
			runs := 0
			cfg := config(server.URL)
			cfg.Now = clock.Now
			cfg.Redact = redact.New(nil)
			cfg.Auth = &suite.Auth{Kind: "command", Expires: tt.expires}
			cfg.Command = func(context.Context) ([]byte, error) { runs++; return []byte(tt.printed), tt.err }
			s := newSystem(t, cfg)
			e, err := s.Execute(t.Context(), aCase(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			if tt.message != "" {
				checkExecution(t, e, server.URL, "", evidence.ErrAuth, 1, "")
				if !strings.Contains(e.Error.Message, "no token, "+tt.message) {
					t.Errorf("message = %q, want %q in it", e.Error.Message, tt.message)
				}
				return
			}
			_ = clock.Sleep(t.Context(), 24*time.Hour)
			mustAnswer(t, s)
			if string(e.Output) != `"you showed t0ken"` || runs != tt.tokens {
				t.Errorf("output %s after %d runs, want the token after %d", e.Output, runs, tt.tokens)
			}
			if got := cfg.Redact.String("t0ken"); got != redact.Marker {
				t.Errorf("the token is not kept out of what is shown: %q", got)
			}
		})
	}
}

// TestCommandHangs: the deadline of the attempt covers the program.
func TestCommandHangs(t *testing.T) {
	inBubble(t, func(http.ResponseWriter, *http.Request) {}, func(t *testing.T, s *httpsystem.System) {
		start := time.Now()
		e, err := s.Execute(t.Context(), aCase(`{}`))
		if err != nil || e.Error.Kind != evidence.ErrAuth || time.Since(start) != 30*time.Second {
			t.Errorf("Execute = %+v, %v after %s, want a fault after 30s", e.Error, err, time.Since(start))
		}
	}, func(cfg *httpsystem.Config) {
		cfg.Limits.Retries = 0
		cfg.Auth = &suite.Auth{Kind: "command"}
		cfg.Command = func(ctx context.Context) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }
	})
}

// TestSigV4 compares the signature of a request with that of the steps of AWS's
// manual; key, region, service and time are those of AWS's own test suite, see
// TestSigV4Steps.
func TestSigV4(t *testing.T) {
	var got http.Header
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		got.Set("Host", r.Host)
		_, _ = io.WriteString(w, `{"result":"`+got.Get("Authorization")+`"}`)
	})
	cfg := config(server.URL + "/knowledgebases/kb%201/retrieve?b=2&a=1")
	cfg.Now = func() time.Time { return time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC) }
	cfg.Auth = &suite.Auth{Kind: "aws_sigv4", SigV4: suite.SigV4{
		Region: "us-east-1", Service: "service", AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: awsSecret, SessionToken: "session",
	}}
	e := mustAnswer(t, newSystem(t, cfg))
	header := got.Get("Authorization")
	const begin = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders="
	list, signature, _ := strings.Cut(strings.TrimPrefix(header, begin), ", Signature=")
	names := strings.Split(list, ";")
	if !strings.HasPrefix(header, begin) || got.Get("X-Amz-Date") != awsDate || got.Get("X-Amz-Security-Token") != "session" {
		t.Fatalf("headers %v", got)
	}
	// But for S3, every segment of the path is encoded once more.
	if want := signatureOf(t, "POST", "/knowledgebases/kb%25201/retrieve", "a=1&b=2", names, got, "{}"); signature != want {
		t.Errorf("signature %s, want %s (%s)", signature, want, list)
	}
	for _, name := range []string{"host", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256", "content-length"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not signed", name)
		}
	}
	if strings.Contains(string(e.Output), signature) || !strings.Contains(string(e.Output), redact.Marker) {
		t.Errorf("the signature is in the output: %s", e.Output)
	}
}

// TestCredentialsStayHome: nothing of them goes to another host by a redirect.
func TestCredentialsStayHome(t *testing.T) {
	elsewhere := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("called with %v", r.Header) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL+"/steal", status) })
		cfg := config(server.URL)
		cfg.Auth = &suite.Auth{Kind: "bearer", Token: "t0ken"}
		e, err := newSystem(t, cfg).Execute(t.Context(), aCase(`{}`))
		if err != nil || e.Error.Kind != evidence.ErrRedirect {
			t.Errorf("Execute = %+v, %v, want a redirect", e, err)
		}
	}
}
