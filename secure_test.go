package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// secure NAME: starts an HTTPS service that asks for a client's certificate, gives
// tokens at /token and takes each of them twice. It sets NAME to its URL and
// writes ca.pem, client.pem and client.key. Its answers say the token back.
func secure(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: secure NAME")
	}
	var issued atomic.Int32
	var uses [100]atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		if id, secret, _ := r.BasicAuth(); id != "gate" || secret == "" || r.FormValue("grant_type") != "client_credentials" {
			http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"access_token":"access-token-number-%02d","token_type":"Bearer","expires_in":"3600"}`, issued.Add(1))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		var n int
		if _, err := fmt.Sscanf(r.Header.Get("Authorization"), "Bearer access-token-number-%d", &n); err != nil || n >= len(uses) || uses[n].Add(1) > 2 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"answer": "yes, " + r.TLS.PeerCertificates[0].Subject.CommonName + " with " + r.Header.Get("Authorization")})
	})
	pair, pool := clientPair(ts)
	server := httptest.NewUnstartedServer(mux)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	server.StartTLS()
	ts.Defer(server.Close)
	write := func(name, kind string, der []byte) {
		ts.Check(os.WriteFile(ts.MkAbs(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	}
	write("ca.pem", "CERTIFICATE", server.Certificate().Raw)
	write("client.pem", "CERTIFICATE", pair.Certificate[0])
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	ts.Check(err)
	write("client.key", "PRIVATE KEY", key)
	ts.Setenv(args[0], server.URL)
}

// clientPair makes the certificate of a client, and the pool that knows it.
func clientPair(ts *testscript.TestScript) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "gate"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	ts.Check(err)
	cert, err := x509.ParseCertificate(der)
	ts.Check(err)
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}
