package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/system/child"
)

// maxOutput bounds what is read of a program that is asked once, in bytes.
const maxOutput = 64 << 10

// Output runs a program to its end and returns what it printed. It inherits no
// standard input. With the context it ends, and its group with it. The error
// shows the last lines of its standard error, without secrets.
func Output(ctx context.Context, command []string, dir string, env []string, r *redact.Redactor) ([]byte, error) {
	var out bounded
	log := &child.Tail{}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, append([]string{}, env...) // nil would be our own environment
	cmd.Stdout, cmd.Stderr = &out, log
	cmd.SysProcAttr = child.Attributes()
	cmd.WaitDelay = time.Second // of what it started, and left with its output
	ended := make(chan error, 1)
	if err := child.Launch(cmd.Start, cmd.Wait, func(err error) { ended <- err }); err != nil {
		return nil, fmt.Errorf("%s could not be started: %s", command[0], r.String(err.Error()))
	}
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		child.Kill(cmd.Process)
		<-ended
		return nil, ctx.Err()
	}
	switch lines := log.Last(r); {
	case err != nil && !errors.Is(err, exec.ErrWaitDelay) && len(lines) > 0:
		return nil, fmt.Errorf("%s failed (%s): %s", command[0], err, strings.Join(lines, " "))
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return nil, fmt.Errorf("%s failed (%s) and wrote nothing on its standard error", command[0], err)
	case out.over:
		return nil, fmt.Errorf("%s printed more than %d bytes", command[0], maxOutput)
	}
	return out.kept.Bytes(), nil
}

// bounded keeps as much as fits. The buffer is not embedded: it would be filled
// past Write.
type bounded struct {
	kept bytes.Buffer
	over bool
}

// Write implements [io.Writer]. It never fails.
func (b *bounded) Write(p []byte) (int, error) {
	room := maxOutput - b.kept.Len()
	b.over = b.over || len(p) > room
	b.kept.Write(p[:min(len(p), room)])
	return len(p), nil
}
