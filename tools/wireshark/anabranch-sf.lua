-- Wireshark and tshark: subflows of SCTP (docs/explanation/subflows.md), and SACKs that select gap blocks (docs/reference/extensions.md).
--
-- Wireshark's own SCTP dissector has no table for chunk types, so this is a post-dissector: it walks the chunks of
-- every SCTP packet once more and shows those of the extension, and SF-CAP, SF-ADD and SF-DEL where they stand.
-- The built-in lines for the same bytes ("Unknown chunk type") stay where they are.
--
--   tshark -X lua_script:tools/wireshark/anabranch-sf.lua -r FILE -V -Y anabranch_sf
--   tshark ... -o anabranch_sf.encoding:TRUE         the encoding of the thesis (types 0 and 3 mean something else)

local sf = Proto("anabranch_sf", "SCTP subflows")

-- One table of code points, as in crates/wire/src/sf.rs. Each is a preference.
sf.prefs.data = Pref.uint("SF-DATA chunk type", 0x5F, "Chunk type of SF-DATA")
sf.prefs.sack = Pref.uint("SF-SACK chunk type", 0x9F, "Chunk type of SF-SACK")
sf.prefs.forward = Pref.uint("SF-FORWARD chunk type", 0xDF, "Chunk type of SF-FORWARD")
sf.prefs.capability = Pref.uint("SF-CAP parameter type", 0xB05F, "Parameter type of SF-CAP")
sf.prefs.add = Pref.uint("SF-ADD parameter type", 0x405F, "Parameter type of SF-ADD")
sf.prefs.delete = Pref.uint("SF-DEL parameter type", 0x4060, "Parameter type of SF-DEL")
sf.prefs.violation = Pref.uint("SF-Violation cause code", 0x5F01, "Cause code of SF-Violation")
sf.prefs.encoding = Pref.bool("Thesis encoding (sf2007)", false, "Chunk types 0 and 3 are those of the 2007 thesis")

local reasons = {
    [1] = "unknown subflow", [2] = "never sent", [3] = "credit exceeded", [4] = "message split",
    [5] = "bad request", [6] = "bad message",
}

local f = {
    kind = ProtoField.string("anabranch_sf.chunk", "Chunk"),
    fid = ProtoField.uint8("anabranch_sf.fid", "FID"),
    epoch = ProtoField.uint8("anabranch_sf.epoch", "Epoch"),
    stsn = ProtoField.uint32("anabranch_sf.stsn", "STSN"),
    stream = ProtoField.uint16("anabranch_sf.stream", "Stream identifier"),
    mid = ProtoField.uint32("anabranch_sf.mid", "Message identifier"),
    ppid = ProtoField.uint32("anabranch_sf.ppid", "Payload protocol identifier"),
    fragment = ProtoField.uint32("anabranch_sf.fragment", "Fragment sequence number"),
    immediate = ProtoField.bool("anabranch_sf.immediate", "Immediate", 8, nil, 0x08),
    unordered = ProtoField.bool("anabranch_sf.unordered", "Unordered", 8, nil, 0x04),
    beginning = ProtoField.bool("anabranch_sf.beginning", "Beginning", 8, nil, 0x02),
    ending = ProtoField.bool("anabranch_sf.ending", "Ending", 8, nil, 0x01),
    payload = ProtoField.bytes("anabranch_sf.payload", "User data"),
    cumulative = ProtoField.uint32("anabranch_sf.cumulative", "Cumulative STSN ack"),
    a_rwnd = ProtoField.uint32("anabranch_sf.a_rwnd", "a_rwnd of the association"),
    a_fwnd = ProtoField.uint32("anabranch_sf.a_fwnd", "a_fwnd of the subflow"),
    final = ProtoField.bool("anabranch_sf.non_renegable", "Gap blocks are final (N)", 8, nil, 0x04),
    times = ProtoField.bool("anabranch_sf.timestamps", "Timestamps (T)", 8, nil, 0x02),
    ecn = ProtoField.bool("anabranch_sf.ecn_counters", "ECN counters (C)", 8, nil, 0x01),
    selected = ProtoField.bool("anabranch_sf.selected", "Gap blocks are a selection (S)", 8, nil, 0x02),
    gap = ProtoField.string("anabranch_sf.gap", "Gap block"),
    duplicate = ProtoField.uint32("anabranch_sf.duplicate", "Duplicate STSN"),
    received = ProtoField.uint32("anabranch_sf.received", "Receive time (us)"),
    delay = ProtoField.uint32("anabranch_sf.ack_delay", "Delay of the acknowledgement (us)"),
    ect0 = ProtoField.uint32("anabranch_sf.ect0", "Packets with ECT(0)"),
    ect1 = ProtoField.uint32("anabranch_sf.ect1", "Packets with ECT(1)"),
    ce = ProtoField.uint32("anabranch_sf.ce", "Packets with CE"),
    skipped = ProtoField.string("anabranch_sf.skipped", "Skipped"),
    version = ProtoField.uint8("anabranch_sf.version", "Version"),
    outbound = ProtoField.uint8("anabranch_sf.outbound", "Outbound subflows (OF)"),
    inbound = ProtoField.uint8("anabranch_sf.max_inbound", "Most inbound subflows (MIF)"),
    cap_t = ProtoField.bool("anabranch_sf.cap.timestamps", "Can send timestamps (T)", 8, nil, 0x08),
    cap_c = ProtoField.bool("anabranch_sf.cap.ecn_counters", "Can send ECN counters (C)", 8, nil, 0x04),
    cap_w = ProtoField.bool("anabranch_sf.cap.windows", "Enforces windows (W)", 8, nil, 0x02),
    cap_a = ProtoField.bool("anabranch_sf.cap.authenticated", "Wants AUTH or DTLS (A)", 8, nil, 0x01),
    credit = ProtoField.uint32("anabranch_sf.credit", "Initial credit of a subflow"),
    floor = ProtoField.uint32("anabranch_sf.floor", "Least credit of a subflow"),
    dscp = ProtoField.uint8("anabranch_sf.dscp", "DSCP hint"),
    weight = ProtoField.uint16("anabranch_sf.weight", "Weight"),
    request = ProtoField.uint32("anabranch_sf.request", "Request sequence number"),
    initial = ProtoField.uint32("anabranch_sf.initial_stsn", "Initial STSN"),
    last = ProtoField.uint32("anabranch_sf.last_stsn", "Last STSN"),
    reason = ProtoField.uint16("anabranch_sf.reason", "Reason", base.DEC, reasons),
    information = ProtoField.string("anabranch_sf.information", "Information"),
    asn = ProtoField.uint32("anabranch_sf.asn", "ASN"),
    fsn = ProtoField.uint24("anabranch_sf.fsn", "FSN"),
    ssn = ProtoField.uint16("anabranch_sf.ssn", "Stream sequence number"),
}
local list = {}
for _, field in pairs(f) do list[#list + 1] = field end
sf.fields = list

local malformed = ProtoExpert.new("anabranch_sf.malformed", "Length does not fit", expert.group.MALFORMED,
    expert.severity.ERROR)
sf.experts = { malformed }

local whole = Field.new("sctp")

-- A line for a chunk, parameter or cause, under the tree of this protocol.
local function line(tree, tvb, name)
    local item = tree:add(f.kind, tvb, name)
    return item
end

local function flags_of(item, tvb, fields)
    for _, field in ipairs(fields) do item:add(field, tvb(1, 1)) end
end

local function letters(bits)
    local text = ""
    for i, letter in ipairs({ "I", "U", "B", "E" }) do
        if bit.band(bits, bit.rshift(16, i)) ~= 0 then text = text .. letter end
    end
    return text
end

local function sf_data(tree, tvb)
    local item = line(tree, tvb, "SF-DATA")
    if tvb:len() < 20 then item:add_tvb_expert_info(malformed, tvb); return "SF-DATA malformed" end
    flags_of(item, tvb, { f.immediate, f.unordered, f.beginning, f.ending })
    item:add(f.stsn, tvb(4, 4))
    item:add(f.stream, tvb(8, 2))
    item:add(f.fid, tvb(10, 1))
    item:add(f.epoch, tvb(11, 1))
    item:add(f.mid, tvb(12, 4))
    local first = bit.band(tvb(1, 1):uint(), 2) ~= 0
    item:add(first and f.ppid or f.fragment, tvb(16, 4))
    if tvb:len() > 20 then item:add(f.payload, tvb(20)) end
    return string.format("SF-DATA %s fid=%d stsn=%u stream=%d mid=%u", letters(tvb(1, 1):uint()),
        tvb(10, 1):uint(), tvb(4, 4):uint(), tvb(8, 2):uint(), tvb(12, 4):uint())
end

local function blocks(item, tvb, at, gaps, duplicates)
    for _ = 1, gaps do
        item:add(f.gap, tvb(at, 4), string.format("%d-%d", tvb(at, 2):uint(), tvb(at + 2, 2):uint()))
        at = at + 4
    end
    for _ = 1, duplicates do
        item:add(f.duplicate, tvb(at, 4))
        at = at + 4
    end
    return at
end

local function sf_sack(tree, tvb)
    local item = line(tree, tvb, "SF-SACK")
    if tvb:len() < 24 then item:add_tvb_expert_info(malformed, tvb); return "SF-SACK malformed" end
    local bits = tvb(1, 1):uint()
    local gaps, duplicates = tvb(20, 2):uint(), tvb(22, 2):uint()
    local times, counters = bit.band(bits, 2) ~= 0, bit.band(bits, 1) ~= 0
    local expected = 24 + 4 * (gaps + duplicates) + (times and 8 or 0) + (counters and 12 or 0)
    flags_of(item, tvb, { f.final, f.times, f.ecn })
    item:add(f.fid, tvb(4, 1))
    item:add(f.epoch, tvb(5, 1))
    item:add(f.cumulative, tvb(8, 4))
    item:add(f.a_rwnd, tvb(12, 4))
    item:add(f.a_fwnd, tvb(16, 4))
    if tvb:len() ~= expected then
        item:add_tvb_expert_info(malformed, tvb)
    else
        local at = blocks(item, tvb, 24, gaps, duplicates)
        if times then
            item:add(f.received, tvb(at, 4))
            item:add(f.delay, tvb(at + 4, 4))
            at = at + 8
        end
        if counters then
            item:add(f.ect0, tvb(at, 4))
            item:add(f.ect1, tvb(at + 4, 4))
            item:add(f.ce, tvb(at + 8, 4))
        end
    end
    return string.format("SF-SACK fid=%d cum=%u a_fwnd=%u gaps=%d", tvb(4, 1):uint(), tvb(8, 4):uint(),
        tvb(16, 4):uint(), gaps)
end

local function sf_forward(tree, tvb)
    local item = line(tree, tvb, "SF-FORWARD")
    if tvb:len() < 12 or (tvb:len() - 12) % 8 ~= 0 then
        item:add_tvb_expert_info(malformed, tvb)
        return "SF-FORWARD malformed"
    end
    item:add(f.fid, tvb(4, 1))
    item:add(f.epoch, tvb(5, 1))
    item:add(f.cumulative, tvb(8, 4))
    for at = 12, tvb:len() - 8, 8 do
        local unordered = bit.band(tvb(at + 3, 1):uint(), 1) ~= 0
        item:add(f.skipped, tvb(at, 8), string.format("stream %d up to message %u%s", tvb(at, 2):uint(),
            tvb(at + 4, 4):uint(), unordered and ", unordered" or ""))
    end
    return string.format("SF-FORWARD fid=%d cum=%u", tvb(4, 1):uint(), tvb(8, 4):uint())
end

local function sf_cap(tree, tvb)
    local item = line(tree, tvb, "SF-CAP")
    if tvb:len() < 16 or (tvb:len() - 16) % 4 ~= 0 then
        item:add_tvb_expert_info(malformed, tvb)
        return "SF-CAP malformed"
    end
    item:add(f.version, tvb(4, 1))
    for _, field in ipairs({ f.cap_t, f.cap_c, f.cap_w, f.cap_a }) do item:add(field, tvb(5, 1)) end
    item:add(f.outbound, tvb(6, 1))
    item:add(f.inbound, tvb(7, 1))
    item:add(f.credit, tvb(8, 4))
    item:add(f.floor, tvb(12, 4))
    for at = 16, tvb:len() - 4, 4 do
        local open = item:add(f.kind, tvb(at, 4), "open at start")
        open:add(f.fid, tvb(at, 1))
        open:add(f.dscp, tvb(at + 1, 1))
        open:add(f.weight, tvb(at + 2, 2))
    end
    return string.format("SF-CAP of=%d mif=%d", tvb(6, 1):uint(), tvb(7, 1):uint())
end

local function sf_add(tree, tvb)
    local item = line(tree, tvb, "SF-ADD")
    if tvb:len() ~= 24 then item:add_tvb_expert_info(malformed, tvb); return "SF-ADD malformed" end
    item:add(f.request, tvb(4, 4))
    item:add(f.fid, tvb(8, 1))
    item:add(f.epoch, tvb(9, 1))
    item:add(f.dscp, tvb(10, 1))
    item:add(f.initial, tvb(12, 4))
    item:add(f.weight, tvb(16, 2))
    item:add(f.a_fwnd, tvb(20, 4))
    return string.format("SF-ADD fid=%d epoch=%d", tvb(8, 1):uint(), tvb(9, 1):uint())
end

local function sf_del(tree, tvb)
    local item = line(tree, tvb, "SF-DEL")
    if tvb:len() ~= 16 then item:add_tvb_expert_info(malformed, tvb); return "SF-DEL malformed" end
    item:add(f.request, tvb(4, 4))
    item:add(f.fid, tvb(8, 1))
    item:add(f.epoch, tvb(9, 1))
    item:add(f.last, tvb(12, 4))
    return string.format("SF-DEL fid=%d epoch=%d", tvb(8, 1):uint(), tvb(9, 1):uint())
end

local function sf_violation(tree, tvb)
    local item = line(tree, tvb, "SF-Violation")
    if tvb:len() < 8 then item:add_tvb_expert_info(malformed, tvb); return "SF-Violation malformed" end
    item:add(f.fid, tvb(4, 1))
    item:add(f.epoch, tvb(5, 1))
    item:add(f.reason, tvb(6, 2))
    if tvb:len() > 8 then item:add(f.information, tvb(8)) end
    return string.format("SF-Violation fid=%d", tvb(4, 1):uint())
end

-- Parameters or causes in a row from `at`; `known` says which of them are shown.
local function tlvs(tree, tvb, at, known)
    local said
    while at + 4 <= tvb:len() do
        local length = tvb(at + 2, 2):uint()
        if length < 4 or at + length > tvb:len() then break end
        local show = known[tvb(at, 2):uint()]
        if show then said = show(tree, tvb(at, length)) or said end
        at = at + math.floor((length + 3) / 4) * 4
    end
    return said
end

local function thesis_data(tree, tvb)
    local item = line(tree, tvb, "DATA (thesis)")
    if tvb:len() < 20 then item:add_tvb_expert_info(malformed, tvb); return "DATA malformed" end
    flags_of(item, tvb, { f.unordered, f.beginning, f.ending })
    item:add(f.asn, tvb(4, 4))
    item:add(f.fid, tvb(8, 1))
    item:add(f.fsn, tvb(9, 3))
    item:add(f.stream, tvb(12, 2))
    item:add(f.ssn, tvb(14, 2))
    item:add(f.ppid, tvb(16, 4))
    if tvb:len() > 20 then item:add(f.payload, tvb(20)) end
    return string.format("DATA/2007 fid=%d fsn=%u asn=%u", tvb(8, 1):uint(), tvb(9, 3):uint(), tvb(4, 4):uint())
end

local function thesis_sack(tree, tvb)
    local item = line(tree, tvb, "SACK (thesis)")
    if tvb:len() < 20 then item:add_tvb_expert_info(malformed, tvb); return "SACK malformed" end
    local gaps, duplicates = tvb(16, 2):uint(), tvb(18, 2):uint()
    item:add(f.asn, tvb(4, 4))
    item:add(f.fid, tvb(8, 1))
    item:add(f.fsn, tvb(9, 3))
    item:add(f.a_fwnd, tvb(12, 4))
    if tvb:len() ~= 20 + 4 * (gaps + duplicates) then
        item:add_tvb_expert_info(malformed, tvb)
    else
        blocks(item, tvb, 20, gaps, duplicates)
    end
    return string.format("SACK/2007 fid=%d cum=%u gaps=%d", tvb(8, 1):uint(), tvb(9, 3):uint(), gaps)
end

local function thesis_capable(tree, tvb)
    if tvb:len() ~= 6 then return nil end
    local item = line(tree, tvb, "Subflow-capable (thesis)")
    item:add(f.outbound, tvb(4, 1))
    item:add(f.inbound, tvb(5, 1))
    return string.format("of=%d mis=%d", tvb(4, 1):uint(), tvb(5, 1):uint())
end

local function selected_sack(tree, tvb)
    if bit.band(tvb(1, 1):uint(), 2) == 0 then return nil end
    line(tree, tvb, "SACK"):add(f.selected, tvb(1, 1))
    return "SACK selected"
end

local function selected_gap_blocks(tree, tvb)
    line(tree, tvb, "Selected Gap Blocks")
    return nil
end

local function chunk(tree, tvb)
    local kind, prefs = tvb(0, 1):uint(), sf.prefs
    if prefs.encoding then
        if kind == 0 then return thesis_data(tree, tvb) end
        if kind == 3 then return thesis_sack(tree, tvb) end
        if kind == 1 or kind == 2 then return tlvs(tree, tvb, 20, { [0x8002] = thesis_capable }) end
        return nil
    end
    if kind == prefs.data then return sf_data(tree, tvb) end
    if kind == prefs.sack then return sf_sack(tree, tvb) end
    if kind == prefs.forward then return sf_forward(tree, tvb) end
    if kind == 3 then return selected_sack(tree, tvb) end
    if kind == 1 or kind == 2 then
        return tlvs(tree, tvb, 20, { [prefs.capability] = sf_cap, [0xB15A] = selected_gap_blocks })
    end
    if kind == 0x82 then return tlvs(tree, tvb, 4, { [prefs.add] = sf_add, [prefs.delete] = sf_del }) end
    if kind == 6 or kind == 9 then return tlvs(tree, tvb, 4, { [prefs.violation] = sf_violation }) end
    return nil
end

-- Whether the packet has anything to show, without a tree.
function sf.dissector(tvb, pinfo, tree)
    for _, info in ipairs({ whole() }) do
        local packet = info.range
        local root
        local at = 12
        while at + 4 <= packet:len() do
            local length = packet(at + 2, 2):uint()
            if length < 4 or at + length > packet:len() then break end
            local kind = packet(at, 1):uint()
            local ours = kind == sf.prefs.data or kind == sf.prefs.sack or kind == sf.prefs.forward
                or kind == 1 or kind == 2 or kind == 6 or kind == 9 or kind == 0x82
                or (sf.prefs.encoding and (kind == 0 or kind == 3))
                or (kind == 3 and bit.band(packet(at + 1, 1):uint(), 2) ~= 0)
            if ours then
                root = root or tree:add(sf, packet)
                local said = chunk(root, packet(at, length))
                if said then pinfo.cols.info:append(" [" .. said .. "]") end
            end
            at = at + math.floor((length + 3) / 4) * 4
        end
    end
end

register_postdissector(sf)
