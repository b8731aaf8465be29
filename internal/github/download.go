package github

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/internal/netguard"
)

const (
	// maxArtifact is the most bytes of an artifact that are downloaded.
	maxArtifact  = 64 << 20
	blobTime     = 60 * time.Second
	blobConnect  = 10 * time.Second
	maxBlobHops  = 2 // redirects after the first
	maxBlobTries = 2 // an address is valid for a minute, then a new one is asked for
	minMasked    = 8 // shorter values would mask ordinary text
	octetStream  = "application/octet-stream"
)

// errExpired says that GitHub no longer has the bytes.
var errExpired = errors.New("GitHub no longer has it")

// refusal is a download that must not be used: what came is not what was
// announced, or lies where nothing is fetched from.
type refusal string

func (r refusal) Error() string { return string(r) }

// downloadArtifact stores the bytes of an artifact in dir and returns the path.
// The error is errExpired, a refusal, or trouble on the way.
func (c *Client) downloadArtifact(ctx context.Context, a *Artifact, dir string) (string, error) {
	if a.Bytes > maxArtifact {
		return "", tooLarge(a.Bytes)
	}
	id := strconv.FormatInt(a.ID, 10)
	return c.download(ctx, "download artifact "+id, c.repo("actions", "artifacts", id, "zip"), "", a.Digest, "GitHub", dir)
}

func tooLarge(n int64) error {
	return refusal(fmt.Sprintf("it has %d bytes, at most %d are downloaded", n, int64(maxArtifact)))
}

// download stores what the API leads to, and checks its digest when there is one,
// which says who says it.
func (c *Client) download(ctx context.Context, doing, path, accept, digest, who, dir string) (string, error) {
	f, err := os.CreateTemp(dir, "baseline-*.zip")
	if err != nil {
		return "", fmt.Errorf("%s: %w", doing, err)
	}
	sum, err := c.fetch(ctx, doing, path, accept, f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil && digest != "" && "sha256:"+sum != digest {
		err = refusal(fmt.Sprintf("its bytes have the digest sha256:%s, %s says %s", sum, who, digest))
	}
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// fetch writes the bytes to f and returns their SHA-256. It asks for a new
// address when one no longer serves.
func (c *Client) fetch(ctx context.Context, doing, path, accept string, f *os.File) (sum string, err error) {
	for try := range maxBlobTries {
		if try > 0 {
			if err := rewind(f); err != nil {
				return "", err
			}
		}
		var refused refusal
		sum, err = c.fetchOnce(ctx, doing, path, accept, f)
		if err == nil || errors.As(err, &refused) || errors.Is(err, errExpired) || reasonOf(err) != "" || ctx.Err() != nil {
			return sum, err
		}
	}
	return "", &APIError{Doing: doing, Reason: Unreachable, Message: transportMessage(err), Err: err}
}

func rewind(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}

func (c *Client) fetchOnce(ctx context.Context, doing, path, accept string, f *os.File) (string, error) {
	res, err := c.ask(ctx, doing, path, nil, accept)
	if err != nil {
		return "", err
	}
	switch s := res.StatusCode; {
	case s == http.StatusOK: // release assets are at times sent at once
		return keep(res.Body, f)
	case s == http.StatusFound || s == http.StatusTemporaryRedirect || s == http.StatusSeeOther:
		return c.fetchBlob(ctx, res, f)
	// Expired artifacts answer 410, others that are gone 404 or 500.
	case s == http.StatusGone || s == http.StatusNotFound || s == http.StatusInternalServerError:
		return "", fmt.Errorf("%w (%d)", errExpired, s)
	}
	if err := checkAnswer(res); err != nil {
		return "", Explain(doing, err)
	}
	return "", &APIError{Doing: doing, Status: res.StatusCode, Reason: Unexpected}
}

// keep copies at most maxArtifact bytes and returns their SHA-256.
func keep(r io.Reader, f io.Writer) (string, error) {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(r, maxArtifact+1))
	if err != nil {
		return "", err
	}
	if n > maxArtifact {
		return "", tooLarge(n)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// fetchBlob follows a redirect of the API with a client that knows no token and
// no cookie.
func (c *Client) fetchBlob(ctx context.Context, from *http.Response, f io.Writer) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, blobTime)
	defer cancel()
	own := c.ownClasses(ctx)
	for range maxBlobHops + 1 {
		to, err := from.Location()
		if err != nil {
			return "", refusal("the API led to no address")
		}
		c.maskSignatures(to)
		if err := c.checkAddress(to, own); err != nil {
			return "", err
		}
		res, err := c.getBlob(ctx, to, own)
		if err != nil {
			return "", err
		}
		from = res
		if s := res.StatusCode; s >= 300 && s < 400 {
			res.Body.Close()
			continue
		} else if s != http.StatusOK {
			res.Body.Close()
			return "", fmt.Errorf("the storage answered %d", s)
		}
		defer res.Body.Close()
		if res.ContentLength > maxArtifact {
			return "", tooLarge(res.ContentLength)
		}
		return keep(res.Body, f)
	}
	return "", refusal(fmt.Sprintf("the storage redirected more than %d times", maxBlobHops))
}

func (c *Client) getBlob(ctx context.Context, to *url.URL, own classes) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	if err != nil {
		return nil, refusal("the storage has a malformed address")
	}
	req.Header.Set("User-Agent", c.API.UserAgent)
	transport := c.blobs.Clone()
	transport.DisableCompression = true // the digest is over the bytes as they are
	transport.DisableKeepAlives = true
	if !proxied(transport, req) { // a proxy is dialled in the address's place
		transport.DialContext = own.dial
	}
	client := &http.Client{Transport: transport, CheckRedirect: stay}
	res, err := client.Do(req)
	if err != nil {
		var refused refusal
		if errors.As(err, &refused) {
			return nil, refused
		}
		return nil, errors.New(transportMessage(err)) // its address has a signature
	}
	return res, nil
}

func proxied(t *http.Transport, req *http.Request) bool {
	if t.Proxy == nil {
		return false
	}
	proxy, err := t.Proxy(req)
	return err == nil && proxy != nil
}

// maskSignatures hides what in an address lets anyone fetch it.
func (c *Client) maskSignatures(u *url.URL) {
	for key, values := range u.Query() {
		switch strings.ToLower(key) {
		case "sig", "x-amz-signature", "x-amz-security-token", "x-goog-signature", "jwt", "token":
			for _, v := range values {
				if len(v) >= minMasked {
					c.mask(v)
					if escaped := url.QueryEscape(v); escaped != v {
						c.mask(escaped)
					}
				}
			}
		}
	}
}

// checkAddress refuses an address by what it says.
func (c *Client) checkAddress(u *url.URL, own classes) error {
	switch {
	case u.Scheme != "https" && !(u.Scheme == "http" && c.base.Scheme == "http"):
		return refusal(fmt.Sprintf("its bytes lie at an address of %q, want https", u.Scheme))
	case u.User != nil || u.Hostname() == "":
		return refusal("its bytes lie at an address with a user or without a host")
	}
	host, err := netguard.ParseHost(u.Hostname())
	if err != nil {
		return refusal("its bytes lie at an address whose " + err.Error())
	}
	// Behind a proxy no address is dialled, so the host's own text is looked at too.
	if k := host.Class(); k != 0 {
		return own.allow(k, host.Name)
	}
	return nil
}

// classes are those of the API's own addresses: a server in a private network
// keeps its artifacts there too.
type classes map[netguard.Class]bool

func (c *Client) ownClasses(ctx context.Context) classes {
	own := classes{netguard.Public: true}
	host, err := netguard.ParseHost(c.base.Hostname())
	if err != nil {
		return own
	}
	if k := host.Class(); k != 0 {
		own[k] = true
		return own
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", c.base.Hostname())
	if err != nil {
		return own // behind a proxy names need not resolve
	}
	for _, ip := range ips {
		own[netguard.ClassOf(ip)] = true
	}
	return own
}

func (own classes) check(ip netip.Addr) error { return own.allow(netguard.ClassOf(ip), ip.String()) }

func (own classes) allow(k netguard.Class, at string) error {
	if k == netguard.Forbidden || !own[k] {
		return refusal(fmt.Sprintf("its bytes lie at the address %s inside a network, which GitHub's API is not", at))
	}
	return nil
}

// dial connects to addresses of allowed classes only.
func (own classes) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: blobConnect, Control: netguard.Control(own.check)}
	return d.DialContext(ctx, network, address)
}

// isZip looks at the first bytes: an artifact need not be a zip.
func isZip(path string) (zip bool, first byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, 0, err
	}
	defer f.Close()
	var magic [4]byte
	n, err := io.ReadFull(f, magic[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false, 0, err
	}
	text := string(magic[:n])
	return text == "PK\x03\x04" || text == "PK\x05\x06", magic[0], nil
}
