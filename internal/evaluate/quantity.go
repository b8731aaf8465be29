package evaluate

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// quantity is a number as it stands in a text, with its unit.
type quantity struct {
	value float64
	text  string // as it stands there
	unit  unitOf
}

// unitOf is a unit: numbers of one dimension are compared in its base unit.
type unitOf struct {
	dimension string  // "" without a unit
	factor    float64 // of the base unit
}

// units lists the units that are read; docs/suite.md shows them. Months and
// years are a dimension of their own, since a month has no number of days.
var units = sync.OnceValue(func() map[string]unitOf {
	all := map[string]unitOf{}
	add := func(dimension string, factor float64, names ...string) {
		for _, name := range names {
			all[name] = unitOf{dimension, factor}
		}
	}
	add("share", 1, "%", "percent", "pct", "percentage point", "percentage points")
	add("USD", 1, "$", "USD", "US$", "dollar", "dollars")
	add("EUR", 1, "€", "EUR", "euro", "euros")
	add("GBP", 1, "£", "GBP")
	add("JPY", 1, "¥", "JPY", "yen")
	add("CHF", 1, "CHF")
	add("INR", 1, "₹", "INR", "rupees")
	add("CNY", 1, "CNY", "yuan")
	add("length", 1e-3, "mm", "millimetre", "millimetres", "millimeter", "millimeters")
	add("length", 1e-2, "cm", "centimetre", "centimetres", "centimeter", "centimeters")
	add("length", 1, "m", "metre", "metres", "meter", "meters")
	add("length", 1e3, "km", "kilometre", "kilometres", "kilometer", "kilometers")
	add("length", 0.0254, "inch", "inches")
	add("length", 0.3048, "ft", "foot", "feet")
	add("length", 1609.344, "mi", "mile", "miles")
	add("mass", 1e-3, "mg", "milligram", "milligrams")
	add("mass", 1, "g", "gram", "grams")
	add("mass", 1e3, "kg", "kilogram", "kilograms", "kilo", "kilos")
	add("mass", 1e6, "tonne", "tonnes")
	add("mass", 453.59237, "lb", "lbs")
	add("mass", 28.349523125, "oz", "ounce", "ounces")
	add("volume", 1e-3, "ml", "mL", "millilitre", "millilitres", "milliliter", "milliliters")
	add("volume", 1, "l", "L", "litre", "litres", "liter", "liters")
	add("time", 1e-3, "ms", "millisecond", "milliseconds")
	add("time", 1, "s", "sec", "secs", "second", "seconds")
	add("time", 60, "min", "mins", "minute", "minutes")
	add("time", 3600, "h", "hr", "hrs", "hour", "hours")
	add("time", 86400, "day", "days")
	add("time", 7*86400, "week", "weeks")
	add("months", 1, "month", "months")
	add("months", 12, "year", "years", "yr", "yrs")
	add("data", 1, "byte", "bytes")
	add("data", 1e3, "kB", "KB")
	add("data", 1e6, "MB")
	add("data", 1e9, "GB")
	add("data", 1e12, "TB")
	add("data", 1<<10, "KiB")
	add("data", 1<<20, "MiB")
	add("data", 1<<30, "GiB")
	add("data", 1<<40, "TiB")
	add("power", 1, "W", "watt", "watts")
	add("power", 1e3, "kW", "kilowatt", "kilowatts")
	add("power", 1e6, "MW")
	add("energy", 1, "Wh")
	add("energy", 1e3, "kWh")
	add("voltage", 1, "V", "volt", "volts")
	add("frequency", 1, "Hz")
	add("frequency", 1e3, "kHz")
	add("frequency", 1e6, "MHz")
	add("frequency", 1e9, "GHz")
	add("celsius", 1, "°C")
	add("fahrenheit", 1, "°F")
	return all
})

// multipliers stand directly behind a number, words also after a space.
var multipliers = map[string]float64{
	"k": 1e3, "K": 1e3, "M": 1e6, "bn": 1e9, "B": 1e9, "mn": 1e6,
	"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12,
}

// findUnit looks a unit up: symbols as they are, words of three letters and
// more in any case.
func findUnit(name string) (unitOf, bool) {
	u, ok := units()[name]
	if !ok && utf8.RuneCountInString(name) >= 3 {
		if u, ok = units()[strings.ToLower(name)]; !ok {
			u, ok = units()[strings.ToUpper(name)] // usd
		}
	}
	return u, ok
}

// reader finds the quantities of a text.
type reader struct {
	text    []rune
	comma   bool // the decimal sign is a comma
	at      int
	current []quantity
}

// quantities returns the numbers of a text in their order. What is read is
// said in docs/suite.md.
func quantities(text string, comma bool) []quantity {
	r := reader{text: []rune(text), comma: comma}
	for r.at < len(r.text) {
		if !digit(r.rune(r.at)) {
			r.at++
			continue
		}
		start := r.at
		value, ok := r.number()
		if !ok {
			continue
		}
		if r.bare(start) {
			start--
		}
		q := quantity{value: value, text: string(r.text[start:r.at])}
		end := r.at
		start = r.sign(start, &q)
		if !r.unit(&q) {
			continue // digits that begin a word, such as 3rd
		}
		switch {
		case q.unit.dimension == "":
			r.before(start, &q)
		case string(r.text[end:r.at]) == "m": // $5m are no metres
			money := q
			if money.unit = (unitOf{}); r.before(start, &money) {
				money.value *= 1e6
				q = money
			}
		}
		r.current = append(r.current, q)
	}
	return r.current
}

func digit(r rune) bool { return '0' <= r && r <= '9' }

// rune is the character at a place, 0 outside of the text.
func (r *reader) rune(i int) rune {
	if i < 0 || i >= len(r.text) {
		return 0
	}
	return r.text[i]
}

// number reads the digits at r.at, with separators and a decimal part, and
// moves behind them. It is not ok for a part of a name, such as kb-03 or v2, or
// of a version, such as 1.2.3.
func (r *reader) number() (float64, bool) {
	start := r.at
	var digits strings.Builder
	run := func() int {
		n := 0
		for digit(r.rune(r.at)) {
			digits.WriteRune(r.rune(r.at))
			r.at++
			n++
		}
		return n
	}
	point := '.'
	if r.comma {
		point = ','
	}
	bare := r.bare(start) // .5
	if bare {
		digits.WriteString("0.")
	}
	first := run()
	grouped := false
	for first <= 3 && !bare && r.group(r.at) {
		r.at++
		run()
		grouped = true
	}
	if r.rune(r.at) == point && digit(r.rune(r.at+1)) && !bare {
		r.at++
		digits.WriteByte('.')
		run()
	}
	if at, ok := r.exponent(); ok && !grouped {
		digits.WriteString(string(r.text[r.at:at]))
		r.at = at
		run()
	}
	// What goes on is a version, a date, or a number with the other decimal sign:
	// 0,5 is not 0 and 5.
	if r.joined() || bare && r.rune(start-1) != point {
		for digit(r.rune(r.at)) || r.joined() {
			r.at++
		}
		if at, ok := r.exponent(); ok {
			r.at = at
			run()
		}
		return 0, false
	}
	if named(r.rune(start-1)) || strings.ContainsRune("-.#/", r.rune(start-1)) && named(r.rune(start-2)) {
		return 0, false
	}
	value, err := strconv.ParseFloat(digits.String(), 64)
	return value, err == nil && !math.IsInf(value, 0)
}

// bare reports whether the digits at i stand behind a decimal sign that nothing
// goes before, as in .5 and $.99.
func (r *reader) bare(i int) bool {
	if c := r.rune(i - 1); c != '.' && c != ',' {
		return false
	}
	before := r.rune(i - 2)
	return before == 0 || unicode.IsSpace(before) || currency(before) || strings.ContainsRune("-−+±=<>~≈([:", before)
}

// exponent returns where the digits of an exponent at r.at begin.
func (r *reader) exponent() (at int, ok bool) {
	if e := r.rune(r.at); e != 'e' && e != 'E' {
		return 0, false
	}
	at = r.at + 1
	if sign := r.rune(at); sign == '-' || sign == '+' {
		at++
	}
	return at, digit(r.rune(at))
}

// joined reports whether a point or a comma with a digit behind it follows.
func (r *reader) joined() bool {
	c := r.rune(r.at)
	return (c == '.' || c == ',') && digit(r.rune(r.at+1))
}

// group reports whether a separator of thousands and three digits stand at i.
func (r *reader) group(i int) bool {
	switch c := r.rune(i); {
	case c == ',' && !r.comma, c == '.' && r.comma:
	case c == '\'', c == '’', c == '\u00a0', c == '\u202f', c == '\u2009', c == '_':
	default:
		return false
	}
	return digit(r.rune(i+1)) && digit(r.rune(i+2)) && digit(r.rune(i+3)) && !digit(r.rune(i+4))
}

// named reports whether a character is one of a name.
func named(r rune) bool { return r == '_' || unicode.IsLetter(r) && !currency(r) }

func currency(r rune) bool { return unicode.Is(unicode.Sc, r) }

// sign takes the minus before a number, unless it stands between two of them,
// and returns where the number now begins.
func (r *reader) sign(start int, q *quantity) int {
	at := start - 1
	if currency(r.rune(at)) { // -$5
		at--
	}
	minus := r.rune(at)
	if minus != '-' && minus != '−' {
		return start
	}
	if before := r.rune(at - 1); digit(before) || unicode.IsLetter(before) || before == ')' || before == '%' || currency(before) && digit(r.rune(at-2)) {
		return start
	}
	q.value, q.text = -q.value, "-"+q.text
	if at == start-1 {
		return at
	}
	return start
}

// unit reads what stands behind the number: a multiplier and a unit. It returns
// false for letters directly behind it that are neither.
func (r *reader) unit(q *quantity) bool {
	word, end, near := r.word(r.at)
	if factor, ok := multipliers[word]; ok && (near || len(word) > 2 || word == "bn") {
		q.value *= factor
		q.text += string(r.text[r.at:end])
		r.at = end
		word, end, near = r.word(r.at)
	}
	if word == "" {
		return true
	}
	u, ok := findUnit(word)
	switch {
	case ok:
		q.unit = u
		q.text += string(r.text[r.at:end])
		r.at = end
	case near && unicode.IsLetter(r.rune(r.at)):
		r.at = end
		return false
	}
	return true
}

// word returns the word behind a place, directly or after one space or hyphen,
// and where it ends.
func (r *reader) word(at int) (word string, end int, near bool) {
	near = true
	if c := r.rune(at); c == ' ' || c == '\u00a0' || c == '\u202f' || c == '-' {
		at++
		near = false
	}
	end = at
	switch c := r.rune(at); {
	case c == '%' || currency(c):
		end++
	case c == '°' && unicode.IsLetter(r.rune(at+1)):
		end += 2
	default:
		for unicode.IsLetter(r.rune(end)) {
			end++
		}
	}
	return string(r.text[at:end]), end, near
}

// before reads a currency that stands before the number: $5, EUR 5. It reports
// whether there is one.
func (r *reader) before(start int, q *quantity) bool {
	end := start
	if r.rune(end-1) == ' ' || r.rune(end-1) == '\u00a0' {
		end--
	}
	at := end
	if currency(r.rune(at - 1)) {
		at--
		if string(r.text[max(at-2, 0):at]) == "US" {
			at -= 2
		}
	} else {
		for at > 0 && unicode.IsUpper(r.text[at-1]) {
			at--
		}
		if end-at != 3 || at > 0 && unicode.IsLetter(r.text[at-1]) {
			return false
		}
	}
	if u, ok := units()[string(r.text[at:end])]; ok && u.factor == 1 && (len(u.dimension) == 3) {
		q.unit = u
		q.text = string(r.text[at:end]) + q.text
		return true
	}
	return false
}
