package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/redact"
)

func TestString(t *testing.T) {
	const key = "p@ss/wörd+?"
	htmlSafe, _ := json.Marshal("a<b>&c")
	basic := base64.StdEncoding.EncodeToString([]byte("someone:hunter22hunter"))
	tests := []struct {
		name    string
		secrets []string
		in      string
		want    string
	}{
		{"no secret", nil, "anything", "anything"},
		{"too short", []string{"abc", ""}, "abc", "abc"},
		{"plain", []string{"abcd"}, "Bearer abcd, abcd", "Bearer [redacted], [redacted]"},
		{"white space around the value", []string{" abcd\n"}, "x abcd", "x [redacted]"},
		{"query escape", []string{key}, "?k=" + url.QueryEscape(key), "?k=[redacted]"},
		{"path escape", []string{key}, "/" + url.PathEscape(key) + "/x", "/[redacted]/x"},
		{"lower hex", []string{key}, strings.ToLower(url.QueryEscape(key)), "[redacted]"},
		{"space as %20", []string{"a b&c"}, "a%20b%26c", "[redacted]"},
		{"base64", []string{key}, base64.StdEncoding.EncodeToString([]byte(key)) + "!", "[redacted]!"},
		{"base64 url", []string{"??>>??>>"}, base64.RawURLEncoding.EncodeToString([]byte("??>>??>>")), "[redacted]"},
		{"hex", []string{"hunter22"}, "68756e7465723232 68756E7465723232", "[redacted] [redacted]"},
		{"json", []string{`a"b\c`}, `{"k":"a\"b\\c"}`, `{"k":"[redacted]"}`},
		{"json in ascii", []string{"wörd😀"}, `"w\u00f6rd\ud83d\ude00" "w\u00F6rd\uD83D\uDE00"`, `"[redacted]" "[redacted]"`},
		{"json for html", []string{"a<b>&c"}, string(htmlSafe), `"[redacted]"`},
		{"json of php", []string{"a/b/c"}, `"a\/b\/c"`, `"[redacted]"`},
		{"longer wins", []string{"secret", "my-secret-key"}, "my-secret-key secret", "[redacted] [redacted]"},
		{"shorter first", []string{"my-s", "my-secret-key"}, "my-secret-key", "[redacted]"},
		{"overlap leaves no end", []string{"abcdef", "efghij"}, "abcdefghij", "[redacted]"},
		{"side by side", []string{"abcd"}, "abcdabcd", "[redacted][redacted]"},
		{"single line of a key", []string{"-----BEGIN\nMIIEowIBAAK\n-----END"}, "x MIIEowIBAAK y", "x [redacted] y"},
		{"cut at the end", []string{"abcdef"}, "abcde", "abcde"},
		{"path of a URL in Python", []string{"p@ss/w+"}, "p%40ss/w%2B", "[redacted]"},
		{"encodeURI", []string{"p@ss/w<"}, "p@ss/w%3C", "[redacted]"},
		{"encodeURIComponent", []string{"p!ss(w<"}, "p!ss(w%3C", "[redacted]"},
		{"a URL inside a URL", []string{"p@ss/w+"}, "p%2540ss%252Fw%252B p%2540ss%252fw%252b", "[redacted] [redacted]"},
		{"json inside json", []string{`a"b\c`}, `"{\"k\":\"a\\\"b\\\\c\"}"`, `"{\"k\":\"[redacted]\"}"`},
		{"html", []string{`a<b>"'&c`}, "a&lt;b&gt;&#34;&#39;&amp;c a&lt;b&gt;&quot;&#x27;&amp;c", "[redacted] [redacted]"},
		{"hex of a short one", []string{"q7Zk"}, "71375a6b", "[redacted]"},
		{"a short one inside base64", []string{"q7Zk_x"}, base64.StdEncoding.EncodeToString([]byte("abc:q7Zk_x")), "YWJjOn[redacted]A=="},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := redact.New(tt.secrets)
			if got := r.String(tt.in); got != tt.want {
				t.Errorf("String(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if got := string(r.Bytes([]byte(tt.in))); got != tt.want {
				t.Errorf("Bytes(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
	t.Run("inside a basic pair", func(t *testing.T) {
		got := redact.New([]string{"hunter22hunter"}).String("Basic " + basic)
		if !strings.Contains(got, redact.Marker) || strings.Contains(got, basic[len(basic)-8:]) {
			t.Errorf("String(Basic %s) = %q: the password is still there", basic, got)
		}
	})
}

func TestJSON(t *testing.T) {
	r := redact.New([]string{"12345", "s3cr3t", "true", "answer"})
	tests := []struct{ name, in, want string }{
		{"untouched", `{"a": 1.50, "b":"\u0041"}`, `{"a": 1.50, "b":"\u0041"}`},
		{"string", `{"a":"x s3cr3t y"}`, `{"a":"x [redacted] y"}`},
		{"a number that is the secret", `{"a":12345}`, `{"a":"[redacted]"}`},
		{"a number that holds it by chance", `{"a":123456789012345678901, "b":1.50}`, `{"a":123456789012345678901,"b":1.50}`},
		{"literals stay", `[true,"true"]`, `[true,"[redacted]"]`},
		{"names", `{"answer":1,"answer answer":2}`, `{"[redacted]":1,"[redacted] [redacted]":2}`},
		{"names that become equal", `{"answer":1,"[redacted]":2,"s3cr3t":3}`, `{"[redacted]":1,"[redacted] 2":2,"[redacted] 3":3}`},
		{"spelling of other strings", `{"a":"\u0041","b":"s3cr3t"}`, `{"a":"\u0041","b":"[redacted]"}`},
		{"not JSON", `{"a":"s3cr3t`, `"[redacted]"`},
		{"not JSON either", `s3cr3t`, `"[redacted]"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, string(r.JSON(jsontext.Value(tt.in)))); diff != "" {
				t.Errorf("JSON(%s) (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

func TestNothingToReplaceCopiesNothing(t *testing.T) {
	r := redact.New([]string{"s3cr3t-key", "another one"})
	body := []byte(strings.Repeat(`{"answer":"the quick brown fox"}`, 100))
	if got := r.Bytes(body); &got[0] != &body[0] {
		t.Error("Bytes copied a body without a secret")
	}
	if n := testing.AllocsPerRun(10, func() { r.Bytes(body); r.JSON(body) }); n != 0 {
		t.Errorf("a body without a secret costs %v allocations, want 0", n)
	}
}

// Texts are cut where they are made: what is left of a secret goes too.
func TestCut(t *testing.T) {
	r := redact.New([]string{"abcdefgh", `p"q/rs"tu`})
	for in, want := range map[string]string{
		"found abcdef… from":                 "found [redacted]… from",
		`at: string ("abcdef ..."), abcde..`: `at: string ("[redacted] ..."), abcde..`,
		`"p\"q/r…" p%22q%2Fr…`:               `"[redacted]…" [redacted]…`,
		"abc… abcdefgh… x…":                  "abc… [redacted]… x…",
		"well......... then… abcd......":     "well......... then… [redacted]......",
		"…abcdef":                            "…abcdef",
		"YWJjZGVm…":                          "[redacted]…",
	} {
		if got := r.String(in); got != want {
			t.Errorf("String(%q) = %q, want %q", in, got, want)
		}
	}
}

// Whatever stands around and whatever the secrets are, none is left.
func TestNoSecretStays(t *testing.T) {
	word := rapid.StringMatching(`[ab%/+"\\é]{4,12}`)
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(word, 1, 4).Draw(t, "secrets")
		parts := rapid.SliceOfN(rapid.OneOf(word, rapid.SampledFrom(secrets)), 0, 6).Draw(t, "parts")
		text := strings.Join(parts, "")
		r := redact.New(secrets)
		clean := r.String(text)
		for _, s := range secrets {
			if strings.Contains(clean, s) {
				t.Fatalf("String(%q) = %q still holds %q", text, clean, s)
			}
		}
		quoted, err := json.Marshal(map[string]any{"text": text, "list": parts})
		if err != nil {
			t.Fatal(err)
		}
		out := r.JSON(jsontext.Value(quoted))
		if !out.IsValid() {
			t.Fatalf("JSON(%s) = %s, not valid", quoted, out)
		}
		var back struct {
			Text string
			List []string
		}
		if err := json.Unmarshal(out, &back); err != nil {
			t.Fatal(err)
		}
		for _, s := range secrets {
			for _, got := range append(back.List, back.Text) {
				if strings.Contains(got, s) {
					t.Fatalf("JSON(%s) = %s still holds %q", quoted, out, s)
				}
			}
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add("s3cr3t", []byte(`{"a":["s3cr3t",1,null],"s3cr3t":{}}`))
	f.Add("1234", []byte(`[1234,"1234",12345]`))
	f.Add("\"\\\"\\", []byte(`"\"\\\"\\"`))
	f.Fuzz(func(t *testing.T, secret string, body []byte) {
		r := redact.New([]string{secret})
		out := r.JSON(jsontext.Value(body))
		if jsontext.Value(body).IsValid() && !out.IsValid() {
			t.Errorf("JSON(%q) without %q = %q, not valid", body, secret, out)
		}
		if secret = strings.TrimSpace(secret); len(secret) >= 4 && !strings.Contains(redact.Marker, secret) && bytes.Contains(r.Bytes(body), []byte(secret)) {
			// A secret may only come back across a marker, which holds its brackets.
			if !strings.ContainsAny(secret, "[]") {
				t.Errorf("Bytes(%q) still holds %q", body, secret)
			}
		}
	})
}

func BenchmarkBytes(b *testing.B) {
	r := redact.New([]string{"Bearer 0123456789abcdef", "another-key-value"})
	body := []byte(strings.Repeat(`{"answer":"the quick brown fox jumps"}`, 54))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		r.Bytes(body)
	}
}

// TestAdd: a secret that becomes known later, while others read.
func TestAdd(t *testing.T) {
	r := redact.New([]string{"first-secret"})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			r.Add(fmt.Sprintf("token-number-%d", i))
			_ = r.String("first-secret and token-number-3")
		})
	}
	wg.Wait()
	for i := range 8 {
		if got, want := r.String(fmt.Sprintf("first-secret, token-number-%d", i)), redact.Marker+", "+redact.Marker; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	var none *redact.Redactor
	none.Add("a-secret")
	if got := none.String("a-secret"); got != "a-secret" || !none.Empty() || r.Empty() {
		t.Errorf("the nil Redactor made %q", got)
	}
}
