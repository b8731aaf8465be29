package report

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// browser is a tab of a headless Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context
}

// openBrowser starts a Chromium, or skips the test when there is none.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium is installed (Debian: apt-get install chromium), so the page was not opened in a browser")
	}
	limit, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU)
	allocator, stop := chromedp.NewExecAllocator(limit, opts...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(closeTab)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) }) // waits until the browser has ended
	b := &browser{t, ctx}
	b.do(chromedp.Navigate("about:blank"))
	return b
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// eval returns the value of a JavaScript expression.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// call sends a command of the DevTools protocol that returns nothing of use.
func call[P, R any](b *browser, send func(context.Context, P) (R, error), params P) {
	b.t.Helper()
	if _, err := send(b.ctx, params); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) scheme(name string) {
	call(b, func(ctx context.Context, p emulation.SetEmulatedMediaParams) (any, error) {
		return chromedp.Call(ctx, emulation.SetEmulatedMedia, p)
	}, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
}

func (b *browser) scripts(on bool) {
	call(b, func(ctx context.Context, p emulation.SetScriptExecutionDisabledParams) (any, error) {
		return chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, p)
	}, emulation.SetScriptExecutionDisabledParams{Value: !on})
}

// console collects what the page says while visit runs.
func (b *browser) console(visit func()) []string {
	b.t.Helper()
	messages := chromedp.Console(b.ctx)
	visit()
	const end = "end of what the test looks at"
	eval[chromedp.Void](b, `console.log("`+end+`")`)
	var all []string
	for m, err := range messages {
		if err != nil {
			b.t.Fatal(err)
		}
		if m.Text == end {
			break
		}
		all = append(all, fmt.Sprintf("%s: %s", m.Type, m.Text))
	}
	return all
}

// page writes a page to a file and returns its address.
func pageFile(t *testing.T, html string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// overflowing names the elements that reach beyond the right edge of the window
// and are not cut off or scrolled by one of their own.
const overflowing = `Array.from(document.querySelectorAll("body *")).filter(e => {
	const r = e.getBoundingClientRect();
	return r.width > 1 && r.right > innerWidth + 0.5 && !e.closest("svg");
}).map(e => e.tagName + "." + e.className + " " + Math.round(e.getBoundingClientRect().right)).slice(0, 5)`

func TestPageInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser is not started with -short")
	}
	b := openBrowser(t)
	pages := map[string]string{
		"everything": renderHTML(t, Build(everythingInput()), sampleOptions(40)),
		"comparison": renderHTML(t, Build(compareInput(exampleComparison(), comparePolicy())), HTMLOptions{}),
		"run":        renderHTML(t, Build(exampleInput()), HTMLOptions{Findings: sampleOptions(9).Findings}),
		"hostile":    renderHTML(t, hostileDocument(func(string) string { return strings.Repeat("W", 300) + "<img src=x onerror=console.log(1)>" }), HTMLOptions{}),

		"diagnosis":         diagnosisHTML(t, goldDiagnosis(t), diagnosisContent()),
		"every label":       diagnosisHTML(t, everyLabel(t), DiagnosisHTMLOptions{}),
		"replay":            diagnosisHTML(t, replayDiagnosis(t), DiagnosisHTMLOptions{}),
		"nothing executed":  diagnosisHTML(t, unsupportedDiagnosis(t), DiagnosisHTMLOptions{}),
		"hostile diagnosis": diagnosisHTML(t, hostileDiagnosis(t, strings.Repeat("W", 300)+"<img src=x onerror=console.log(1)>"), DiagnosisHTMLOptions{}),
	}
	for name, html := range pages {
		address := pageFile(t, html)
		said := b.console(func() {
			for _, scheme := range []string{"light", "dark"} {
				b.scheme(scheme)
				for _, width := range []int64{390, 1280, 1920} {
					b.do(chromedp.EmulateViewport(width, 900), chromedp.Navigate(address))
					eval[chromedp.Void](b, `document.querySelectorAll("details").forEach(d => { d.open = true })`)
					if wide := eval[[]string](b, overflowing); len(wide) > 0 {
						t.Errorf("%s, %s, %d px: wider than the window: %q", name, scheme, width, wide)
					}
					if over := eval[float64](b, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
						t.Errorf("%s, %s, %d px: scrolls %v px sideways", name, scheme, width, over)
					}
				}
				dark := eval[string](b, `getComputedStyle(document.documentElement).backgroundColor`)
				if isDark := dark == "rgb(22, 21, 19)"; isDark != (scheme == "dark") {
					t.Errorf("%s: background %s in the %s scheme", name, dark, scheme)
				}
			}
			checkPageForEveryone(b, name)
		})
		if len(said) > 0 {
			t.Errorf("%s: the console says %q", name, said)
		}
	}
}

// checkPageForEveryone looks at what a screen reader needs.
func checkPageForEveryone(b *browser, name string) {
	b.t.Helper()
	for what, query := range map[string]string{
		"pictures without a label":        `svg[role=img]:not([aria-label]), svg[role=img][aria-label=""], svg:not([role=img]):not([aria-hidden])`,
		"headers of tables without scope": `th:not([scope])`,
		"tables without header":           `table:not(:has(thead th[scope=col]))`,
		"fields without a label":          `:is(input, select):not(label *)`,
		"sections without a heading":      `section:not([aria-labelledby])`,
		"elements with their own style":   `[style]`,
		"tags that the page has not":      `img, iframe, object, embed, form, link:not([rel=icon])`,
	} {
		if n := eval[int](b, "document.querySelectorAll(`"+query+"`).length"); n > 0 {
			b.t.Errorf("%s: %d %s", name, n, what)
		}
	}
	if n := eval[int](b, `document.querySelectorAll("h1").length`); n != 1 {
		b.t.Errorf("%s: %d headings of the first level", name, n)
	}
	// The first stop of the keyboard leads past the head of the page.
	if first := eval[string](b, `document.querySelector("a, button, input, select, summary").className`); first != "skip" {
		b.t.Errorf("%s: the first stop is %q", name, first)
	}
}

func TestPageSortsAndFilters(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser is not started with -short")
	}
	b := openBrowser(t)
	said := b.console(func() {
		b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(pageFile(t, renderHTML(t, Build(everythingInput()), HTMLOptions{Findings: sampleOptions(30).Findings}))))
		const shown = `Array.from(document.querySelectorAll("#flips-t tbody tr")).filter(r => !r.hidden).map(r => r.cells[0].textContent)`
		before := eval[[]string](b, shown)
		if len(before) != 33 {
			t.Fatalf("%d rows", len(before))
		}

		sorted := func(column int) []string {
			b.do(chromedp.Click(fmt.Sprintf("#flips-t thead th:nth-child(%d) button", column)))
			return eval[[]string](b, shown)
		}
		up, down := sorted(1), sorted(1)
		slices.Reverse(down)
		if !slices.Equal(up, down) || slices.Equal(up, before) || len(up) != 33 || up[0] != "<script>alert(1)</script>" {
			t.Errorf("sorted up %q, down, turned round, %q", up, down)
		}
		if got := eval[string](b, `document.querySelector("#flips-t thead th").getAttribute("aria-sort")`); got != "descending" {
			t.Errorf("aria-sort is %q", got)
		}
		sorted(2)
		if got := eval[string](b, `document.querySelector("#flips-t thead th").getAttribute("aria-sort") || "none"`); got != "none" {
			t.Errorf("aria-sort of the other column is %q", got)
		}

		b.do(chromedp.SendKeys(`[data-for="flips-t"] input`, "MONEY"))
		if got := eval[[]string](b, shown); !slices.Equal(got, []string{"money_back"}) {
			t.Errorf("filtered %q", got)
		}
		if got := eval[string](b, `document.querySelector('[data-for="flips-t"] output').textContent`); got != "1 of 33 shown" {
			t.Errorf("the page says %q", got)
		}
		choose := func(verdict string) []string {
			eval[chromedp.Void](b, `{const s = document.querySelector('[data-for="flips-t"] select'); s.value = "`+verdict+`"; s.dispatchEvent(new Event("change"))}`)
			return eval[[]string](b, shown)
		}
		if got := choose("newly failing"); len(got) != 0 {
			t.Errorf("newly failing and money: %q", got)
		}
		eval[chromedp.Void](b, `{const i = document.querySelector('[data-for="flips-t"] input'); i.value = ""; i.dispatchEvent(new Event("input"))}`)
		if got := choose("newly failing"); len(got) != 31 {
			t.Errorf("newly failing: %d", len(got))
		}
		if got := choose("newly passing"); len(got) != 2 {
			t.Errorf("newly passing: %q", got)
		}
		if got := choose(""); len(got) != 33 {
			t.Errorf("both: %d", len(got))
		}
	})
	if len(said) > 0 {
		t.Errorf("the console says %q", said)
	}
}

// Without a script everything is there to read, and nothing that does not work.
func TestPageWithoutScript(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser is not started with -short")
	}
	b := openBrowser(t)
	address := pageFile(t, renderHTML(t, Build(everythingInput()), sampleOptions(12)))
	b.scripts(false)
	b.do(chromedp.Navigate(address))
	b.scripts(true)
	if n := eval[int](b, `document.querySelectorAll("thead button").length`); n != 0 {
		t.Errorf("%d buttons without a script", n)
	}
	if n := eval[int](b, `Array.from(document.querySelectorAll(".tools")).filter(e => e.offsetParent).length`); n != 0 {
		t.Errorf("%d tools without a script", n)
	}
	if n := eval[int](b, `document.querySelectorAll("#flips-t tbody tr").length`); n != 33 {
		t.Errorf("%d rows", n)
	}
	eval[chromedp.Void](b, `document.querySelector(".cases summary").click()`)
	// A page that is busy draws what was opened a little later.
	b.do(chromedp.Poll[chromedp.Void](`document.querySelector(".cases details").innerText.includes("14 days")`))
	if pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF()); err != nil || len(pdf) < 10_000 {
		t.Errorf("printed %d bytes, %v", len(pdf), err)
	}
}

// The test above would see an overflow and a complaint of the console.
func TestBrowserChecksFind(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser is not started with -short")
	}
	b := openBrowser(t)
	html := strings.Replace(renderHTML(t, Build(exampleInput()), HTMLOptions{}), "<footer>", `<p style="color:red">x</p><pre><code>`+strings.Repeat("wide", 200)+"</code></pre><table><tr><td><nobr>"+strings.Repeat("wide", 200)+"</nobr></td></tr></table><footer>", 1)
	said := b.console(func() {
		b.do(chromedp.EmulateViewport(390, 900), chromedp.Navigate(pageFile(t, html)))
		if wide := eval[[]string](b, overflowing); len(wide) == 0 {
			t.Error("an overflow is not found")
		}
	})
	if len(said) == 0 {
		t.Error("the console says nothing of a forbidden style")
	}
}
