package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// shutdownTime is how long answers under way may take once the service is told
// to end.
const shutdownTime = 2 * time.Second

// Serve runs the example service of that name until ctx ends. It fails when
// there is no such service ([ErrUnknown]) or the address cannot be had.
func Serve(ctx context.Context, name string, opt Options) error {
	s, err := find(name)
	if err != nil {
		return err
	}
	handler, err := s.handler(opt)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", opt.Addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", opt.Addr, err)
	}
	if opt.Log != nil {
		fmt.Fprintf(opt.Log, "%s answers on http://%s%s  (Ctrl-C ends it)\n", name, listener.Addr(), s.path)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("%s: %w", name, err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if err := server.Shutdown(grace); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
