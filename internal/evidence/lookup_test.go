package evidence

import "testing"

func TestShortenShowsLetters(t *testing.T) {
	for text, want := range map[string]string{
		`"Das wei\u00df ich"`:          `"Das weiß ich"`,
		`"\ud83d\ude00 \u4f60"`:        `"😀 你"`,
		`"a\\u00df \u202e\u0000\n"`:    `"a\\u00df \u202e\u0000\n"`, // an escaped backslash, and what cannot be printed
		`"\ud83d alone \u0041\u00"`:    `"\ud83d alone \u0041\u00"`,
		`{"k\u00e9": ["\u00e9\\"]}`:    `{"ké": ["é\\"]}`,
		`"\u00e9\u00e9\u00e9\u00e9"  `: `"éééé"`,
	} {
		if got := Shorten(Value(text), 60); got != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
}
