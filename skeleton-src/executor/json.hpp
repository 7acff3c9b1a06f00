/// \file
/// Just enough JSON to write one line.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace tramontane::executor::json {

[[nodiscard]] inline std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
            result += c;
        } else {
            result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
    }
    return result + '"';
}

/// With all digits that a double has.
[[nodiscard]] inline std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}
[[nodiscard]] inline std::string number(std::int64_t value) { return std::to_string(value); }

/// Members of an object or elements of an array, with commas between them.
class List {
public:
    List& add(std::string_view key, const std::string& value) { return add(quoted(key).append(": ").append(value)); }
    List& add(const std::string& value) {
        if (!text_.empty()) {
            text_ += ", ";
        }
        text_ += value;
        return *this;
    }
    [[nodiscard]] std::string object() const { return enclosed('{', '}'); }
    [[nodiscard]] std::string array() const { return enclosed('[', ']'); }

private:
    [[nodiscard]] std::string enclosed(char opening, char closing) const {
        std::string result(1, opening);
        result += text_;
        result += closing;
        return result;
    }

    std::string text_;
};

}  // namespace tramontane::executor::json
