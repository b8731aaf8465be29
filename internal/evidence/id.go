package evidence

// Digest is a content id: "sha256:" and 64 hex digits.
type Digest string
