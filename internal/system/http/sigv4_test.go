package httpsystem_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
)

const (
	awsDate   = "20150830T123600Z"
	awsScope  = "20150830/us-east-1/service/aws4_request"
	awsSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

// signatureOf follows the steps of AWS's manual, "Create a signed AWS API request".
func signatureOf(t *testing.T, method, path, query string, names []string, h http.Header, body string) string {
	t.Helper()
	var canonical strings.Builder
	for _, name := range names {
		value := h.Get(name)
		if name == "content-length" && value == "" {
			t.Fatal("no length")
		}
		canonical.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	sum := func(s string) string { d := sha256.Sum256([]byte(s)); return hex.EncodeToString(d[:]) }
	request := strings.Join([]string{method, path, query, canonical.String(), strings.Join(names, ";"), sum(body)}, "\n")
	mac := func(key []byte, s string) []byte {
		m := hmac.New(sha256.New, key)
		m.Write([]byte(s))
		return m.Sum(nil)
	}
	key := []byte("AWS4" + awsSecret)
	for part := range strings.SplitSeq(awsScope, "/") {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, "AWS4-HMAC-SHA256\n"+awsDate+"\n"+awsScope+"\n"+sum(request)))
}

// TestSigV4Steps holds signatureOf against the signatures that AWS publishes in its
// aws-sig-v4-test-suite.
func TestSigV4Steps(t *testing.T) {
	h := http.Header{"Host": {"example.amazonaws.com"}, "X-Amz-Date": {awsDate}}
	names := []string{"host", "x-amz-date"}
	for _, tt := range []struct{ name, method, path, query, want string }{
		{"get-vanilla", "GET", "/", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"get-vanilla-query-order-key-case", "GET", "/", "Param1=value1&Param2=value2", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{"post-vanilla", "POST", "/", "", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
	} {
		if got := signatureOf(t, tt.method, tt.path, tt.query, names, h, ""); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
