// pin-images replaces image tags with digests.
//
// usage: pin-images DIGESTS FILE...
//
// Each line in DIGESTS contains an image name with a tag and the same name with a digest, separated by a space. If DIGESTS does not exist,
// as is the case between releases, pin-images does not change any files.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: pin-images DIGESTS FILE...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "pin-images: "+err.Error())
		os.Exit(1)
	}
}

func run(digests string, files []string) error {
	pairs, err := os.ReadFile(digests)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	words := strings.Fields(string(pairs))
	if len(words)%2 != 0 {
		return fmt.Errorf("%s: each line must contain two names of an image, with a tag and with a digest", digests)
	}
	replacer := strings.NewReplacer(words...)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(replacer.Replace(string(text))), 0o600); err != nil {
			return err
		}
	}
	return nil
}
