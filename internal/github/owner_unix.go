//go:build unix

package github

import (
	"io/fs"
	"os"
	"syscall"
)

// ownerOf returns whom files in a directory are given to: its owner, when we
// are root and the owner is not. An action's container runs as root; on a
// runner that is kept, root's files would stop the next job's clean-up.
func ownerOf(dir fs.FileInfo) owner {
	stat, ok := dir.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 || stat.Uid == 0 {
		return owner{}
	}
	return owner{uid: int(stat.Uid), gid: int(stat.Gid), change: true}
}
