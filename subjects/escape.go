package subjects

import (
	"fmt"
	"strings"
)

const hexDigits = "0123456789ABCDEF"

// Escape turns any non-empty string into one token that is valid in a subject, in a KV key and in a consumer name. ASCII letters,
// digits, '-' and '_' stay; every other byte becomes "=" and two hexadecimal digits. Ordinary IDs stay readable, and [Unescape]
// reverses it exactly. The token is at most three times as long as the text.
func Escape(text string) string {
	if isPlain(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 8)
	for i := range len(text) {
		c := text[i]
		if isPlainByte(c) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('=')
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&0xF])
	}
	return b.String()
}

// Unescape reverses [Escape]. It refuses every token that Escape does not make, so that each text has exactly one token.
func Unescape(token string) (string, error) {
	if token == "" {
		return "", fmt.Errorf("subjects: empty token")
	}
	if isPlain(token) {
		return token, nil
	}
	out := make([]byte, 0, len(token))
	for i := 0; i < len(token); i++ {
		c := token[i]
		if c != '=' {
			if !isPlainByte(c) {
				return "", fmt.Errorf("subjects: token %q has an unescaped %q", token, c)
			}
			out = append(out, c)
			continue
		}
		if i+2 >= len(token) {
			return "", fmt.Errorf("subjects: token %q ends within an escape", token)
		}
		hi, lo := strings.IndexByte(hexDigits, token[i+1]), strings.IndexByte(hexDigits, token[i+2])
		if hi < 0 || lo < 0 || isPlainByte(byte(hi<<4|lo)) {
			return "", fmt.Errorf("subjects: token %q has a bad escape", token)
		}
		out = append(out, byte(hi<<4|lo))
		i += 2
	}
	return string(out), nil
}

func isPlain(text string) bool {
	for i := range len(text) {
		if !isPlainByte(text[i]) {
			return false
		}
	}
	return true
}

func isPlainByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}
