package service_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/system/child"
	"github.com/oloproof/oloproof-go/internal/system/service"
)

// The test binary plays the service when SERVICE_ROLE is set.
func TestMain(m *testing.M) {
	role := os.Getenv("SERVICE_ROLE")
	if role == "" {
		os.Exit(m.Run())
	}
	play(role, os.Getenv("SERVICE_ADDRESS"))
}

func play(role, address string) {
	switch role {
	case "serve":
		fmt.Println("listening")
		serve(address, http.StatusOK)
	case "loading":
		serve(address, http.StatusServiceUnavailable)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		serve(address, http.StatusOK)
	case "parent": // as a shell or a reloader does
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "SERVICE_ROLE="+os.Getenv("SERVICE_CHILD"))
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			panic(err)
		}
		if os.Getenv("SERVICE_LEAVES") == "" {
			_ = child.Wait()
		}
	case "die":
		for i := range 30 {
			fmt.Printf("line %d\n", i)
		}
		fmt.Fprintln(os.Stderr, "\x1b[31merror:\x1b[0m key s3cr3t-t0ken refused\x07")
		os.Exit(3)
	case "die later":
		l, err := net.Listen("tcp", address)
		if err != nil {
			panic(err)
		}
		for range 2 { // the look of Start, then the test's
			conn, err := l.Accept()
			if err != nil {
				panic(err)
			}
			conn.Close()
		}
		fmt.Println("out of memory")
		os.Exit(1)
	case "silent":
		select {}
	case "launcher": // stands for oloproof, to be killed by force
		cfg := config("serve", address)
		if _, err := service.Start(context.Background(), cfg); err != nil {
			panic(err)
		}
		fmt.Println("started")
		select {}
	}
}

func serve(address string, status int) {
	err := http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "%s %s", os.Getenv("GREETING"), r.URL.Path)
	}))
	fmt.Println(err)
	os.Exit(4)
}

func config(role, address string, env ...string) service.Config {
	return service.Config{
		Command: []string{os.Args[0]},
		Env:     append([]string{"SERVICE_ROLE=" + role, "SERVICE_ADDRESS=" + address}, env...),
		Ready:   "http://" + address + "/ready",
		Timeout: 30 * time.Second,
		Redact:  redact.New([]string{"s3cr3t-t0ken"}),
	}
}

// freeAddress returns an address at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// hold opens a connection that ends when the process behind it does.
func hold(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// wantEnd checks that the process behind a connection ends.
func wantEnd(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second)) // a failure, not a wait
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the process that listened at %s is still there (%v)", conn.RemoteAddr(), err)
	}
}

func TestServes(t *testing.T) {
	address := freeAddress(t)
	for _, ready := range []string{"http://" + address + "/ready?key=s3cr3t-t0ken", address} {
		t.Run(ready[:4], func(t *testing.T) {
			cfg := config("serve", address, "GREETING=no", "GREETING=hello")
			cfg.Ready = ready
			s, err := service.Start(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.Get("http://" + address + "/x")
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(body) != "hello /x" {
				t.Errorf("answer %q, want %q", body, "hello /x")
			}
			conn := hold(t, address)
			s.Stop()
			s.Stop()
			wantEnd(t, conn)
			select {
			case <-s.Died():
				t.Error("a service that was stopped has not died")
			default:
			}
			if s.Err() != nil {
				t.Errorf("Err = %v, want none", s.Err())
			}
		})
	}
}

func TestWorkingDirectoryAndEnvironment(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("runs a shell")
	}
	dir := t.TempDir()
	cfg := config("", freeAddress(t))
	t.Setenv("SERVICE_TEST_OUTSIDE", "leaked")
	cfg.Command, cfg.Dir, cfg.Env = []string{"/bin/sh", "-c", "echo in $(pwd -P) $INSIDE-$SERVICE_TEST_OUTSIDE-"}, dir, []string{"INSIDE=here"}
	_, err := service.Start(t.Context(), cfg)
	real, _ := filepath.EvalSymlinks(dir)
	if want := "in " + real + " here--"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Start: %v, want output %q", err, want)
	}
}

func TestStaleServer(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	lively := httptest.NewServer(nil)
	defer lively.Close()
	for _, address := range []string{busy.Addr().String(), lively.Listener.Addr().String()} {
		cfg := config("serve", address)
		cfg.Command = []string{filepath.Join(t.TempDir(), "must-not-be-launched")}
		cfg.Ready = "http://user:pw@" + address + "/ready?key=1"
		_, err := service.Start(t.Context(), cfg)
		want := "something answers at http://" + address + "/ready before the service is launched, so another server would be judged: stop it, or let the service listen at a free port (${PORT})"
		if err == nil || err.Error() != want {
			t.Errorf("Start: %v, want %s", err, want)
		}
	}
}

func TestNotLaunched(t *testing.T) {
	address := freeAddress(t)
	tests := []struct {
		name   string
		change func(*service.Config)
		want   string
	}{
		{"no such program", func(c *service.Config) { c.Command = []string{"no-such-program-anywhere"} }, `the service could not be launched: exec: "no-such-program-anywhere": executable file not found in `},
		{"no command", func(c *service.Config) { c.Command = nil }, "the command of the service is empty"},
		{"no such directory", func(c *service.Config) { c.Dir = "no-such-directory" }, "the service could not be launched: "},
		{"ready", func(c *service.Config) { c.Ready = "localhost" }, "ready of the service: want http://HOST:PORT/PATH or HOST:PORT"},
		{"ready scheme", func(c *service.Config) { c.Ready = "ftp://localhost/x" }, "ready of the service: want http://HOST:PORT/PATH or HOST:PORT"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config("serve", address)
			tt.change(&cfg)
			if _, err := service.Start(t.Context(), cfg); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("Start: %v, want %s…", err, tt.want)
			}
		})
	}
}

func TestDiesBeforeItIsReady(t *testing.T) {
	address := freeAddress(t)
	_, err := service.Start(t.Context(), config("die", address))
	if err == nil {
		t.Fatal("Start: no error")
	}
	var want strings.Builder
	fmt.Fprintf(&want, "the service ended before it answered at http://%s/ready (exit status 3); the end of its output:", address)
	for i := 11; i < 30; i++ {
		fmt.Fprintf(&want, "\n  | line %d", i)
	}
	want.WriteString("\n  | error: key [redacted] refused")
	if err.Error() != want.String() {
		t.Errorf("Start: %v\nwant %s", err, want.String())
	}
}

func TestEndsWithoutBeingAsked(t *testing.T) {
	address := freeAddress(t)
	cfg := config("die later", address)
	cfg.Ready = address
	s, err := service.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if s.Err() != nil {
		t.Errorf("Err of a living service: %v", s.Err())
	}
	hold(t, address)
	<-s.Died()
	want := "the service ended while it was needed (exit status 1); the end of its output:\n  | out of memory"
	if err := s.Err(); err == nil || err.Error() != want {
		t.Errorf("Err = %v, want %s", err, want)
	}
	s.Stop()
}

func TestNeverReady(t *testing.T) {
	address := freeAddress(t)
	tests := []struct{ role, want string }{
		{"silent", "refused); it has printed nothing"},
		{"loading", "(status 503 Service Unavailable); it has printed nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.role, func(t *testing.T) {
			cfg := config(tt.role, address)
			cfg.Timeout = time.Second
			_, err := service.Start(t.Context(), cfg)
			if err == nil || !strings.HasPrefix(err.Error(), "the service did not answer at http://"+address+"/ready within 1s (") || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("Start: %v, want …%s", err, tt.want)
			}
			if conn, err := net.Dial("tcp", address); err == nil {
				conn.Close()
				t.Error("the service is still there")
			}
		})
	}
}

func TestStartIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	cfg := config("loading", address)
	go func() { // interrupts once the service is up
		for ctx.Err() == nil {
			if conn, err := net.Dial("tcp", address); err == nil {
				conn.Close()
				cancel()
			}
		}
	}()
	if _, err := service.Start(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Errorf("Start: %v, want %v", err, context.Canceled)
	}
	if conn, err := net.Dial("tcp", address); err == nil {
		conn.Close()
		t.Error("the service is still there")
	}
}

func TestTheWholeGroupEnds(t *testing.T) {
	if child.Lacks != "" && runtime.GOOS == "windows" {
		t.Skip(child.Lacks)
	}
	tests := []struct {
		name, role string
		env        []string
	}{
		{"ignores the request", "stubborn", nil},
		{"has a child", "parent", []string{"SERVICE_CHILD=serve"}},
		{"has a child that ignores the request", "parent", []string{"SERVICE_CHILD=stubborn"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			address := freeAddress(t)
			cfg := config(tt.role, address, tt.env...)
			cfg.Grace = 100 * time.Millisecond
			s, err := service.Start(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			conn := hold(t, address)
			s.Stop()
			wantEnd(t, conn)
		})
	}
	t.Run("leaves a child behind", func(t *testing.T) {
		address := freeAddress(t)
		_, err := service.Start(t.Context(), config("parent", address, "SERVICE_CHILD=silent", "SERVICE_LEAVES=1"))
		if err == nil || !strings.Contains(err.Error(), "(exit status 0: it has to stay in the foreground)") {
			t.Errorf("Start: %v, want the exit named", err)
		}
	})
}

func TestEndsWhenOloproofIsKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip(child.Lacks)
	}
	address := freeAddress(t)
	launcher := exec.Command(os.Args[0])
	launcher.Env = append(os.Environ(), "SERVICE_ROLE=launcher", "SERVICE_ADDRESS="+address)
	output, err := launcher.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := launcher.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(output, make([]byte, len("started\n"))); err != nil {
		t.Fatal(err)
	}
	conn := hold(t, address)
	_ = launcher.Process.Kill()
	_ = launcher.Wait()
	wantEnd(t, conn)
}
