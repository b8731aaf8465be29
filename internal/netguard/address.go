// Package netguard says which addresses may be dialled. A URL, a name server or
// a redirect may come from outside; what is connected to is looked at here,
// first as text and then as the address that the socket gets.
package netguard

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Class is where an address leads.
type Class int

const (
	// Public is the open internet. The zero Class is that of a name, which leads
	// anywhere.
	Public Class = iota + 1
	// Private is inside some network: RFC 1918, unique local, shared and others.
	Private
	// Loopback is this machine, in a container the container.
	Loopback
	// Forbidden is called by nobody who means well: link-local, the addresses
	// where clouds tell machines their credentials, multicast, reserved.
	Forbidden
)

// String returns the word for a class.
func (c Class) String() string {
	switch c {
	case Public:
		return "public"
	case Private:
		return "private"
	case Loopback:
		return "loopback"
	case Forbidden:
		return "forbidden"
	}
	return "unknown"
}

// block is a range of addresses and its class.
type block struct {
	netip.Prefix
	class Class
}

// blocks are the ranges that are not public; the strictest that holds an
// address counts. They are of https://www.iana.org/assignments/iana-ipv4-special-registry
// and iana-ipv6-special-registry, without those for documentation, and of the
// clouds' manuals.
var blocks = sync.OnceValue(func() []block {
	var all []block
	for class, texts := range map[Class]string{
		Loopback: "127.0.0.0/8 ::1/128",
		Private: "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 " + // RFC 1918
			"100.64.0.0/10 " + // shared, RFC 6598
			"192.0.0.0/24 " + // protocol assignments, RFC 6890
			"198.18.0.0/15 " + // benchmarks, RFC 2544
			"fc00::/7 fec0::/10 " + // unique local, RFC 4193; site-local, RFC 3879
			"64:ff9b:1::/48 " + // local translation, RFC 8215
			"2001::/32", // Teredo, RFC 4380
		Forbidden: "0.0.0.0/8 ::/128 " + // unspecified; Linux takes both for loopback
			"169.254.0.0/16 fe80::/10 " + // link-local, with the metadata of most clouds
			"224.0.0.0/4 ff00::/8 " + // multicast
			"240.0.0.0/4 " + // reserved, with broadcast
			"fd00:ec2::/32 " + // metadata of Amazon
			"fd20:ce::254/128 " + // of Google
			"100.100.100.200/32 " + // of Alibaba
			"192.0.0.192/32 " + // of Oracle
			"168.63.129.16/32", // wire server of Azure, where GitHub's runners live
	} {
		for text := range strings.FieldsSeq(texts) {
			all = append(all, block{netip.MustParsePrefix(text), class})
		}
	}
	slices.SortFunc(all, func(a, b block) int { return int(b.class - a.class) }) // the strictest first
	return all
})

// carrier is an IPv6 prefix whose addresses lead to the IPv4 address that
// stands in them.
type carrier struct {
	netip.Prefix
	at int // first byte of that address
}

var carriers = sync.OnceValue(func() []carrier {
	return []carrier{
		{netip.MustParsePrefix("64:ff9b::/96"), 12},    // NAT64, RFC 6052
		{netip.MustParsePrefix("2002::/16"), 2},        // 6to4, RFC 3056
		{netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, // SIIT, RFC 2765
		{netip.MustParsePrefix("::/96"), 12},           // IPv4-compatible, RFC 4291
	}
})

// ClassOf returns the class of an address. An IPv6 address that carries an
// IPv4 address has the class of that one. What is no address is Forbidden.
func ClassOf(ip netip.Addr) Class {
	ip = ip.Unmap().WithZone("")
	if !ip.IsValid() {
		return Forbidden
	}
	for _, b := range blocks() {
		if b.Contains(ip) {
			return b.class
		}
	}
	for _, c := range carriers() {
		if c.Contains(ip) {
			b := ip.As16()
			return ClassOf(netip.AddrFrom4([4]byte(b[c.at : c.at+4])))
		}
	}
	return Public
}

// Control returns a function for [net.Dialer] that looks at each address when
// its socket is about to connect. A name cannot change its mind after that.
func Control(check func(netip.Addr) error) func(network, address string, conn syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%q is not an address and a port", address)
		}
		return check(at.Addr())
	}
}
