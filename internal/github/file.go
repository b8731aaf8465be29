package github

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// rawMedia asks for the bytes of a file, whatever its size up to 100 MB.
const rawMedia = "application/vnd.github.raw+json"

// lfsPointer begins what Git stores in place of a large file
// (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md).
const lfsPointer = "version https://git-lfs.github.com/spec/v1"

// ErrNotAFile is a path that is a directory, a symbolic link that leads to no
// file of the repository, or a submodule.
var ErrNotAFile = errors.New("no file of the repository")

// File returns the content of a file at a commit: at most limit bytes. The path
// has slashes and begins at the root of the repository. The error is
// fs.ErrNotExist when there is no such file, and ErrNotAFile when something else
// is there. A link to a file of the repository gives that file.
func (l *Lookup) File(ctx context.Context, commit, name string, limit int64) ([]byte, error) {
	doing := fmt.Sprintf("read %s at %s", clean(name), short(commit))
	if !isCommit(commit) {
		return nil, fmt.Errorf("read %s: %q is no commit", clean(name), commit)
	}
	if !fs.ValidPath(name) || name == "." || path.Clean(name) != name || strings.ContainsAny(name, "\\\x00") {
		return nil, fmt.Errorf("%s: want a path inside the repository, with slashes and without dots", doing)
	}
	res, err := l.client.send(ctx, doing, l.client.repo(append([]string{"contents"}, strings.Split(name, "/")...)...), url.Values{"ref": {commit}}, rawMedia)
	if IsNotFound(err) {
		return nil, l.absent(ctx, doing, commit)
	}
	if err != nil {
		return nil, err
	}
	return rawBody(doing, res, limit)
}

// absent tells a file that is not there from a repository that the token cannot
// read, which GitHub answers alike.
func (l *Lookup) absent(ctx context.Context, doing, commit string) error {
	if !l.readable {
		if _, err := l.commit(ctx, commit); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w", doing, fs.ErrNotExist)
}

func rawBody(doing string, res *http.Response, limit int64) ([]byte, error) {
	// Only files are sent raw; what else lies at a path is described in JSON.
	media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(media, "application/vnd.github.") || !strings.Contains(media, "raw") {
		return nil, fmt.Errorf("%s: %w: it is a directory, a link that leads outside or a submodule", doing, ErrNotAFile)
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return nil, Explain(doing, err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s: it has more than %d bytes", doing, limit)
	}
	if strings.HasPrefix(string(b[:min(len(b), len(lfsPointer))]), lfsPointer) {
		return nil, fmt.Errorf("%s: %w: it is a pointer of Git LFS, whose content GitHub's API does not give", doing, ErrNotAFile)
	}
	return b, nil
}
