// Package child is what concerns every process that is started here: it has a
// process group of its own, ends when oloproof is killed, and its last words are
// kept.
package child

import "runtime"

// Launch runs start on a thread of its own and, when that succeeds, wait on the
// same one; ended is given what wait returns. Linux ends the process when the
// thread that started it does, not when oloproof as a whole does (see
// PR_SET_PDEATHSIG in prctl(2)), so the thread has to stay.
func Launch(start, wait func() error, ended func(error)) error {
	launched := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := start()
		launched <- err
		if err == nil {
			ended(wait())
		}
	}()
	return <-launched
}
