package flagconf

import (
	"fmt"

	"github.com/spf13/pflag"
)

// Source is where the value of a flag comes from. Of two, the greater one counts.
type Source int

// The sources, the weakest first.
const (
	Default Source = iota
	File
	Environment
	CommandLine
)

// The annotations that [Apply] leaves at a flag that it has set: the text is that of the source.
const (
	fileAnnotation        = "carillon.file"
	environmentAnnotation = "carillon.environment"
)

// SourceOf returns where a flag has its value from, and what it is called there: --nats, CARILLON_NATS, or nats in
// carillon.yaml. It knows that after [Apply].
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

// Reset makes a flag one that no source sets.
func Reset(flag *pflag.Flag) {
	switch value := flag.Value.(type) {
	case pflag.SliceValue:
		_ = value.Replace(nil)
	case *Enum:
		*value.target = flag.DefValue // which may be none of the words
	default:
		_ = value.Set(flag.DefValue) // it had that before
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
