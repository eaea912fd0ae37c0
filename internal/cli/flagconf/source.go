package flagconf

import (
	"fmt"

	"github.com/spf13/pflag"
)

// Source says where the value of a flag comes from. The greater of two sources counts.
type Source int

// The sources, from the weakest to the strongest.
const (
	Default Source = iota
	File
	Environment
	CommandLine
)

// The annotations that [Apply] adds to a flag it has set. The text is the name that the source uses.
const (
	fileAnnotation        = "carillon.file"
	environmentAnnotation = "carillon.environment"
)

// SourceOf returns the source of a flag's value, and the flag's name there: --nats, CARILLON_NATS, or nats in carillon.yaml. It works only
// after [Apply].
func SourceOf(flag *pflag.Flag) (source Source, name string) {
	option := "--" + flag.Name
	if !flag.Changed {
		return Default, option
	}
	if text := flag.Annotations[environmentAnnotation]; text != nil {
		return Environment, text[0]
	}
	if text := flag.Annotations[fileAnnotation]; text != nil {
		return File, fmt.Sprintf("%s in %s", flag.Name, text[0])
	}
	return CommandLine, option
}

// Reset returns a flag to its default, as if no source had set it.
func Reset(flag *pflag.Flag) {
	switch value := flag.Value.(type) {
	case pflag.SliceValue:
		_ = value.Replace(nil)
	case *Enum:
		*value.target = flag.DefValue // the default may be none of the allowed words
	default:
		_ = value.Set(flag.DefValue) // the flag has had this value before, so it is valid
	}
	flag.Changed = false
	delete(flag.Annotations, environmentAnnotation)
	delete(flag.Annotations, fileAnnotation)
}

func note(flag *pflag.Flag, annotation, text string) {
	if flag.Annotations == nil {
		flag.Annotations = map[string][]string{}
	}
	flag.Annotations[annotation] = []string{text}
}
