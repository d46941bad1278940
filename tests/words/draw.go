package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	drawn     = 40
	leastLong = 4 // words; shorter texts are names, cells and parts of messages
)

// draw writes sentences that people read, for an editor to judge. The hash of the last commit chooses the sentences, so that no one can
// influence the choice.
func draw(ctx context.Context, out io.Writer, root string) error {
	command := exec.CommandContext(ctx, "git", "rev-parse", "HEAD")
	command.Dir = root
	seed, err := command.Output()
	if err != nil {
		return fmt.Errorf("git rev-parse: %w", err)
	}
	type choice struct {
		file, sentence string
		at             [sha256.Size]byte
	}
	var all []choice
	err = eachText(ctx, root, func(file, content string) error {
		kind, read := groupOf(file)
		if !read {
			return nil
		}
		found, err := sentences(kind, content)
		slices.Sort(found)
		for _, sentence := range slices.Compact(found) {
			all = append(all, choice{file, sentence, sha256.Sum256([]byte(string(seed) + file + sentence))})
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b choice) int { return bytes.Compare(a.at[:], b.at[:]) })
	_, _ = fmt.Fprintf(out, "%d of %d sentences, chosen by %s", drawn, len(all), seed)
	for i, each := range all[:min(drawn, len(all))] {
		_, _ = fmt.Fprintf(out, "%2d. %s: %s\n", i+1, each.file, each.sentence)
	}
	return nil
}

// eachText calls do for each tracked file, except the files in this directory.
func eachText(ctx context.Context, root string, do func(file, content string) error) error {
	command := exec.CommandContext(ctx, "git", "ls-files", "-z")
	command.Dir = root
	listed, err := command.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for file := range strings.SplitSeq(strings.TrimRight(string(listed), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) || strings.HasPrefix(file, "tests/words/") { // a deletion may not be committed yet
			continue
		} else if err != nil {
			return err
		}
		if err := do(file, string(content)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// sentences returns the sentences of a file, including code within the sentences.
func sentences(kind group, content string) ([]string, error) {
	texts := paragraphs(content)
	if kind != docs {
		var err error
		if texts, err = commentsAndStrings(kind, content); err != nil {
			return nil, err
		}
	}
	var all []string
	for _, text := range texts {
		for sentence := range strings.SplitSeq(ends().ReplaceAllString(strings.Join(strings.Fields(text), " "), "$1\n"), "\n") {
			if len(strings.Fields(sentence)) >= leastLong {
				all = append(all, sentence)
			}
		}
	}
	return all, nil
}

// marker matches a line of a comment that controller-gen reads.
func marker() *regexp.Regexp { return regexp.MustCompile(`(?m)^\+.*`) }

// ends matches the end of a sentence.
func ends() *regexp.Regexp { return regexp.MustCompile(`([.!?]["')]?) `) }

// paragraphs returns the lines of Markdown outside of fences and HTML comments, and the cells of tables.
func paragraphs(content string) []string {
	var texts []string
	for line := range strings.SplitSeq(regexp.MustCompile("(?s)```.*?```|<!--.*?-->").ReplaceAllString(content, ""), "\n") {
		if strings.HasPrefix(line, "|") {
			texts = append(texts, strings.Split(line, " | ")...)
		} else {
			texts = append(texts, strings.TrimLeft(line, "#-* "))
		}
	}
	return texts
}

// commentsAndStrings returns the comments of Go, and the strings of programs.
func commentsAndStrings(kind group, content string) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "", content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, comment := range parsed.Comments {
		texts = append(texts, marker().ReplaceAllString(comment.Text(), ""))
	}
	if kind == tests {
		return texts, nil
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		if literal, is := node.(*ast.BasicLit); is && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts, nil
}
