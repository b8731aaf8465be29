package cli

import (
	"fmt"
	"io"
	"sync"
)

// uuids makes random ids (RFC 9562, version 4). It is safe for concurrent use.
type uuids struct {
	mu     sync.Mutex
	random io.Reader
}

func (u *uuids) next() string {
	var b [16]byte
	u.mu.Lock()
	_, err := io.ReadFull(u.random, b[:])
	u.mu.Unlock()
	if err != nil { // as crypto/rand: there is no going on without
		panic(fmt.Sprintf("no random numbers: %v", err))
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
