// Command octokit makes the test data of internal/github from two packages of
// the npm registry: GitHub's published API description, cut to the operations
// that are used, and the published examples of events, trimmed.
//
//	npm pack @octokit/openapi@23.0.2 @octokit/webhooks-examples@7.6.1
//	go run ./scripts/octokit octokit-openapi-23.0.2.tgz octokit-webhooks-examples-7.6.1.tgz internal/github/githubtest/testdata
package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: octokit OPENAPI.tgz WEBHOOKS-EXAMPLES.tgz DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "octokit:", err)
		os.Exit(1)
	}
}

func run(openapi, examples, dir string) error {
	description, err := unpack(openapi, "package/generated/api.github.com.json", "package/generated/ghes-3.19.json", "package/LICENSE")
	if err != nil {
		return err
	}
	for _, name := range []string{"api.github.com.json", "ghes-3.19.json"} {
		cut, err := cutDescription(description["package/generated/"+name])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), cut, 0o644); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "LICENSE"), description["package/LICENSE"], 0o644); err != nil {
		return err
	}
	const index = "package/api.github.com/index.json"
	events, err := unpack(examples, index)
	if err != nil {
		return err
	}
	return writeEvents(events[index], filepath.Join(dir, "events"))
}

// unpack returns the named files of a package.
func unpack(path string, names ...string) (map[string][]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, name := range names {
			if h.Name == name {
				if files[name], err = io.ReadAll(r); err != nil {
					return nil, fmt.Errorf("%s: %s: %w", path, name, err)
				}
			}
		}
	}
	for _, name := range names {
		if files[name] == nil {
			return nil, fmt.Errorf("%s has no %s", path, name)
		}
	}
	return files, nil
}
