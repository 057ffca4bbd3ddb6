#include "compiler/support/source.h"

#include <catch2/catch_test_macros.hpp>

using namespace sarek;

TEST_CASE("offsets map to lines and columns that count from one") {
  SourceManager sources;
  const FileId file = sources.add("a.sarek", "ab\n\ncde\r\nlast");
  CHECK(sources.line_column(file, 0).line == 1);
  CHECK(sources.line_column(file, 2).column == 3);
  CHECK(sources.line_column(file, 3).line == 2);
  CHECK(sources.line_column(file, 5).line == 3);
  CHECK(sources.line_column(file, 5).column == 2);
  CHECK(sources.line_column(file, 999).line == 4);
  CHECK(sources.line_text(file, 3) == "cde");
  CHECK(sources.line_text(file, 4) == "last");
  CHECK(sources.line_text(file, 5).empty());
}

TEST_CASE("ranges join within a file and keep the known one otherwise") {
  SourceManager sources;
  const FileId file = sources.add("a", "0123456789");
  const SourceRange a{file, 2, 4};
  const SourceRange b{file, 6, 7};
  CHECK(join(a, b) == SourceRange{file, 2, 7});
  CHECK(join(a, SourceRange{}) == a);
  CHECK(join(SourceRange{}, b) == b);
  CHECK(sources.text(SourceRange{file, 8, 99}) == "89");
}
