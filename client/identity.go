package client

import (
	"os"
	"os/user"
	"strings"
	"unicode"
)

// defaultIdentity names the user and the host, as far as the system tells.
func defaultIdentity() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		return name
	}
	return name + "@" + host
}

// headerText makes text fit for a header. The frontend cuts what is too long.
func headerText(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
