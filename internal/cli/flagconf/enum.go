package flagconf

import (
	"fmt"
	"slices"
	"strings"
)

// Enum is the value of a flag that takes one of a few words. It implements pflag.Value.
type Enum struct {
	target  *string
	allowed []string
}

// NewEnum returns a flag value that stores into target, which keeps its content as the default.
func NewEnum(target *string, allowed ...string) *Enum { return &Enum{target: target, allowed: allowed} }

// String returns the word chosen.
func (e *Enum) String() string { return *e.target }

// Set chooses a word.
func (e *Enum) Set(text string) error {
	if !slices.Contains(e.allowed, text) {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(e.allowed, ", "))
	}
	*e.target = text
	return nil
}

// Type returns "enum".
func (e *Enum) Type() string { return "enum" }

// Allowed returns the words, for help and tests.
func (e *Enum) Allowed() []string { return slices.Clone(e.allowed) }
